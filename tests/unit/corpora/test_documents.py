"""Documents: the same from every kind of file, however compressed, and never lost unsaid."""

import bz2
import csv
import gzip
import io
import json
import lzma
import tracemalloc

import pyarrow
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from headstart.corpora.compression import Meter
from headstart.corpora.documents import Reading, read_documents
from headstart.corpora.places import Complaints
from headstart.errors import DataError

TEXTS = [
    "a plain line",
    "l'\u00e9t\u00e9, \u00abd\u00e9j\u00e0\u00bb",
    'commas, "quotation marks" and \\ strokes',
    "  spaces   kept  ",
    "\U0001f600 \u4f60\u597d",
    "x" * 5_000,
]
COMPRESS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def as_csv(texts) -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([("n", "text"), *enumerate(texts)])
    return stream.getvalue().encode()


def as_parquet(texts) -> bytes:
    stream = io.BytesIO()
    parquet.write_table(pyarrow.table({"n": range(len(texts)), "text": texts}), stream)
    return stream.getvalue()


FORMATS = {
    ".txt": lambda texts: "".join(f"{text}\n" for text in texts).encode(),
    ".csv": as_csv,
    ".tsv": lambda texts: "".join(f"{t}\t{n}\n" for n, t in enumerate(["text", *texts])).encode(),
    ".jsonl": lambda texts: "".join(json.dumps({"text": t}) + "\n" for t in texts).encode(),
    ".parquet": as_parquet,
}


def reading(*, skips_bad=False, **options) -> Reading:
    return Reading(meter=Meter(), complaints=Complaints(skips_bad=skips_bad), **options)


def texts_of(*paths, **options) -> list[str]:
    return [document.text for document in read_documents(paths, reading(**options))]


def written(folder, name: str, data: bytes | str):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def refused(*paths, **options) -> str:
    with pytest.raises(DataError) as caught:
        texts_of(*paths, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_in_every_compression_gives_the_same_documents(tmp_path, suffix, compression):
    data = COMPRESS[compression](FORMATS[suffix](TEXTS))
    assert texts_of(written(tmp_path, f"file{suffix}{compression}", data)) == TEXTS


def test_several_files_are_read_one_after_another(tmp_path):
    paths = [written(tmp_path, f"file{suffix}", made(TEXTS)) for suffix, made in FORMATS.items()]
    assert texts_of(*paths) == TEXTS * len(FORMATS)


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_document_knows_its_file_and_its_line(tmp_path, suffix):
    path = written(tmp_path, f"file{suffix}", FORMATS[suffix](TEXTS))
    places = [document.place for document in read_documents([path], reading())]
    assert {place.path for place in places} == {path}
    first = 2 if suffix in {".csv", ".tsv"} else 1
    assert [place.line for place in places] == list(range(first, first + len(TEXTS)))


def test_blank_lines_are_no_documents(tmp_path):
    assert texts_of(written(tmp_path, "a.txt", "\n \none\n\t\n\u3000\ntwo\n\n")) == ["one", "two"]


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.lists(st.sampled_from(["one", "two ", " three"]), min_size=1), min_size=1),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 3),
)
def test_paragraphs_are_what_blank_lines_separate(tmp_path_factory, paragraphs, end, num_blank):
    text = (end * (num_blank + 1)).join(end.join(lines) for lines in paragraphs)
    path = written(tmp_path_factory.getbasetemp(), "paragraphs.txt", text)
    found = list(read_documents([path], reading(documents="paragraphs")))
    assert [document.text for document in found] == ["\n".join(lines) for lines in paragraphs]
    rows = [line.strip() for line in text.splitlines()]
    for document in found:
        assert rows[document.place.line - 1] == document.text.splitlines()[0].strip()


def test_a_whole_file_can_be_one_document(tmp_path):
    path = written(tmp_path, "a.txt", "one\n\ntwo\n")
    assert texts_of(path, documents="files") == ["one\n\ntwo"]


@pytest.mark.parametrize("kind", ["lines", "paragraphs", "files"])
def test_text_already_cut_is_one_document_a_line_as_it_is(tmp_path, kind):
    path = written(tmp_path, "a.review.spm", "\u2581l ' \u2581\u00e9t \u00e9\n\n\u2581deux\n")
    found = list(read_documents([path], reading(documents=kind)))
    assert [document.text for document in found] == ["\u2581l ' \u2581\u00e9t \u00e9", "\u2581deux"]
    assert [document.plain for document in found] == ["l' \u00e9t\u00e9", "deux"]
    assert all(document.is_cut for document in found)


def test_text_that_is_not_cut_is_plain_as_it_is(tmp_path):
    (document,) = read_documents([written(tmp_path, "a.txt", "\u2581not cut")], reading())
    assert document.plain == "\u2581not cut"


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_without_a_document_is_refused_by_name(tmp_path, suffix, compression):
    data = COMPRESS[compression](FORMATS[suffix]([]))
    assert f"file{suffix}" in refused(written(tmp_path, f"file{suffix}{compression}", data))


@pytest.mark.parametrize("data", ["", "\n\n \n", "\ufeff"])
@pytest.mark.parametrize("kind", ["lines", "paragraphs", "files"])
def test_a_blank_file_is_refused_by_name(tmp_path, data, kind):
    assert "blank.txt" in refused(written(tmp_path, "blank.txt", data), documents=kind)


def test_an_empty_file_is_refused_though_something_was_skipped_in_another(tmp_path):
    bad = written(tmp_path, "bad.txt", b"good\n\xff\n")
    empty = written(tmp_path, "empty.txt", "")
    assert "empty.txt" in refused(bad, empty, skips_bad=True)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".tsv", ".parquet"])
def test_a_missing_column_is_answered_with_those_there_are(tmp_path, suffix):
    path = written(tmp_path, f"file{suffix}", FORMATS[suffix](TEXTS))
    sentence = refused(path, text_column="review")
    for word in (str(path), "'review'", "text", "--text-column"):
        assert word in sentence


def test_a_column_can_be_named(tmp_path):
    path = written(tmp_path, "a.csv", "text,other\nno,yes\n")
    assert texts_of(path, text_column="other") == ["yes"]


def test_a_row_of_json_without_the_column_is_named_or_counted(tmp_path):
    path = written(tmp_path, "a.jsonl", '{"text": "a"}\n{"other": "b"}\n{"text": "c"}\n')
    assert "line 2" in refused(path)
    lenient = reading(skips_bad=True)
    assert [document.text for document in read_documents([path], lenient)] == ["a", "c"]
    assert sum(lenient.complaints.counts.values()) == 1


@pytest.mark.parametrize("first", ["{}", '{"a": 1, "b": 2}'])
def test_rows_of_json_without_any_text_are_refused_in_a_sentence(tmp_path, first):
    sentence = refused(written(tmp_path, "a.jsonl", f"{first}\n"), skips_bad=True)
    assert "It has: ." not in sentence


@pytest.mark.parametrize("kind", ["lines", "paragraphs", "files"])
@pytest.mark.parametrize("bad", [b"\xff", b"\0", b"x" * (10 << 20)])
def test_bad_lines_among_good_ones_are_named_or_counted(tmp_path, kind, bad):
    path = written(tmp_path, "a.txt", b"one\n" + bad + b"\ntwo\n")
    assert "a.txt, line 2: " in refused(path, documents=kind)
    lenient = reading(skips_bad=True, documents=kind)
    found = [document.text for document in read_documents([path], lenient)]
    assert found == (["one", "two"] if kind == "lines" else ["one\ntwo"])
    assert sum(lenient.complaints.counts.values()) == 1


@pytest.mark.parametrize(
    ("suffix", "kind"),
    [(".txt", "files"), (".txt", "paragraphs"), (".csv", "lines"), (".jsonl", "lines")],
)
def test_a_corpus_of_100_mb_is_not_held(tmp_path, suffix, kind):
    data = FORMATS[suffix](["y" * (1 << 20)])
    header, _, line = data.rpartition(b"\n")[0].rpartition(b"\n")
    path = tmp_path / f"large{suffix}.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(header + b"\n" * bool(header))
        for _ in range(100):
            stream.write(line + b"\n")
    tracemalloc.start()
    documents = read_documents([path], reading(documents=kind))
    num_letters = sum(document.text.count("y") for document in documents)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert num_letters == 100 << 20
    assert peak < 40 << 20


@pytest.mark.parametrize("opened", ["lines", "paragraphs", "files"])
def test_how_far_the_files_are_read_reaches_their_size(tmp_path, opened):
    paths = [
        written(tmp_path, f"f{suffix}{end}", COMPRESS[end](FORMATS[suffix](TEXTS)))
        for suffix, end in [(".txt", ""), (".csv", ".xz"), (".jsonl", ".gz"), (".parquet", "")]
    ]
    started = reading(documents=opened)
    list(read_documents(paths, started))
    assert started.meter.num_bytes == sum(path.stat().st_size for path in paths)
