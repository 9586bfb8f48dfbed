"""Examples: a text, its label and its group, from one table or two files, none of them lost."""

import csv
import gzip
import io
import json
import os
from pathlib import Path

import pytest

from headstart.corpora.compression import Meter
from headstart.corpora.documents import Reading
from headstart.corpora.examples import ExampleColumns, read_examples
from headstart.corpora.places import Complaints
from headstart.errors import DataError

ROWS = [
    ("good, and more", "1", "film A"),
    ('"bad"', "0", "film B"),
    ("\u00e9t\u00e9", "1", "film A"),
]
PAIRS = [(text, label) for text, label, _ in ROWS]
SHARED = Path(__file__).parents[4] / "shared" / "data" / "cls-books"
NO_COLUMNS = ExampleColumns()


def reading(*, skips_bad=False) -> Reading:
    return Reading(meter=Meter(), complaints=Complaints(skips_bad=skips_bad))


def pairs_of(name, started=None, columns=NO_COLUMNS) -> list[tuple[str, str]]:
    examples = read_examples(str(name), started or reading(), columns)
    return [(example.text, example.label) for example in examples]


def refused(name, columns=NO_COLUMNS, *, skips_bad=False) -> str:
    with pytest.raises(DataError) as caught:
        read_examples(str(name), reading(skips_bad=skips_bad), columns)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def written(folder, name: str, data: bytes | str):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def table(folder, header=("text", "label", "film"), suffix=".csv"):
    if suffix == ".jsonl":
        text = "".join(json.dumps(dict(zip(header, row, strict=True))) + "\n" for row in ROWS)
        return written(folder, "table.jsonl", text)
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([header, *ROWS])
    return written(folder, "table.csv", stream.getvalue())


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
@pytest.mark.parametrize("header", [("text", "label", "film"), ("Review", "Sentiment", "film")])
def test_columns_are_found_by_their_names(tmp_path, header, suffix):
    assert pairs_of(table(tmp_path, header, suffix)) == PAIRS


def test_columns_can_be_named(tmp_path):
    path = table(tmp_path, ("film", "text", "label"))
    columns = ExampleColumns(text="film", label="text", group="label")
    examples = read_examples(str(path), reading(), columns)
    assert [(example.text, example.label, example.group) for example in examples] == ROWS
    assert [example.place.line for example in examples] == [2, 3, 4]


def test_numbers_and_truth_values_are_labels(tmp_path):
    path = written(tmp_path, "a.jsonl", '{"text": "a", "label": 0}\n{"text": "b", "label": true}\n')
    assert [label for _, label in pairs_of(path)] == ["0", "True"]


@pytest.mark.parametrize("columns", [{"text": "body"}, {"label": "body"}, {"group": "body"}])
def test_a_missing_column_is_answered_with_those_there_are(tmp_path, columns):
    sentence = refused(table(tmp_path), ExampleColumns(**columns))
    for word in ("table.csv", "'body'", "text, label, film", next(iter(columns))):
        assert word in sentence


@pytest.mark.parametrize("label", ["", "  "])
def test_a_text_without_a_label_is_named_or_counted(tmp_path, label):
    path = written(tmp_path, "a.csv", f"text,label\nfirst,1\nsecond,{label}\nthird,0\n")
    assert "a.csv, line 3: " in refused(path)
    lenient = reading(skips_bad=True)
    assert pairs_of(path, lenient) == [("first", "1"), ("third", "0")]
    assert sum(lenient.complaints.counts.values()) == 1


@pytest.mark.parametrize("group", ["null", '"\\ud800"', '"a\\u0000"'])
def test_a_row_whose_group_cannot_be_read_is_skipped_when_it_is_counted_as_skipped(tmp_path, group):
    lines = ['{"text": "a", "label": 0, "g": "x"}', f'{{"text": "b", "label": 1, "g": {group}}}']
    path = written(tmp_path, "a.jsonl", "\n".join(lines))
    lenient = reading(skips_bad=True)
    examples = read_examples(str(path), lenient, ExampleColumns(group="g"))
    assert sum(lenient.complaints.counts.values()) == 1
    assert [example.text for example in examples] == ["a"]


def test_a_row_with_two_faults_is_counted_as_one_row(tmp_path):
    text = '{"text": "a", "label": 0}\n{"text": null, "label": null}\n'
    lenient = reading(skips_bad=True)
    assert pairs_of(written(tmp_path, "a.jsonl", text), lenient) == [("a", "0")]
    assert sum(lenient.complaints.counts.values()) == 1


@pytest.mark.parametrize("text_name", ["train.txt", "train.review.txt.gz", "train.md"])
@pytest.mark.parametrize("label_name", ["train.label", "train.labels"])
def test_labels_stand_in_a_file_beside_the_texts(tmp_path, text_name, label_name):
    texts = "".join(f"{text}\n" for text, _ in PAIRS).encode()
    path = written(tmp_path, text_name, gzip.compress(texts) if text_name.endswith("gz") else texts)
    written(tmp_path, label_name, "1\n0\r\n1")
    assert pairs_of(path) == PAIRS


def test_labels_can_be_named_behind_a_comma(tmp_path):
    path = written(tmp_path, "texts", "a\nb\n")
    labels = written(tmp_path, "answers.txt.gz", gzip.compress(b"1\n0\n"))
    assert pairs_of(f"{path},{labels}") == [("a", "1"), ("b", "0")]


def test_a_name_with_a_comma_is_still_a_name(tmp_path):
    path = written(tmp_path, "one,two.csv", "text,label\na,1\n")
    assert pairs_of(path) == [("a", "1")]


def test_texts_without_labels_are_told_where_to_put_them(tmp_path):
    path = written(tmp_path, "train.txt", "a\n")
    sentence = refused(path)
    for words in (f"as {tmp_path / 'train.label'}", f"after a comma: {path},LABELS"):
        assert words in sentence


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("train.xlsx", b"PK\3\4"),
        ("train.ods", b"text,label\na,1\n"),
        ("train.csv", b"PK\3\4 and more"),
        ("train.pdf", b"%PDF-1.7\n"),
        ("train", b"%PDF-1.7\n"),
    ],
)
def test_a_spreadsheet_or_document_is_to_be_saved_as_text(tmp_path, name, data):
    sentence = refused(written(tmp_path, name, data))
    assert f"{tmp_path / name} is " in sentence
    assert "Save it as .csv or .txt" in sentence


def test_what_is_there_but_no_file_is_said_to_be_read_only_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "a stream or a device" in refused(tmp_path / "pipe")


@pytest.mark.parametrize("columns", [{"label": "text"}, {"text": "label"}])
def test_one_column_cannot_be_text_and_label(tmp_path, columns):
    path = written(tmp_path, "train.csv", "text,label\na,1\n")
    sentence = refused(path, ExampleColumns(**columns))
    assert "cannot be both the text and the label" in sentence


@pytest.mark.parametrize("name", ["absent.csv", "absent.txt", "absent.txt,absent.label"])
def test_a_file_that_is_not_there_is_named(tmp_path, name):
    assert "absent" in refused(tmp_path / name)


@pytest.mark.parametrize(
    ("texts", "labels"),
    [("a\nb\nc\n", "1\n0\n"), ("a\nb\n", "1\n0\n1\n"), ("", "1\n"), ("a\n", "")],
)
def test_texts_and_labels_that_do_not_match_are_refused_with_both_names(tmp_path, texts, labels):
    path = written(tmp_path, "train.txt", texts)
    sentence = refused(f"{path},{written(tmp_path, 'train.label', labels)}")
    for word in ("train.txt", "train.label", "line"):
        assert word in sentence


def test_a_blank_label_in_a_file_of_labels_is_named_or_counted(tmp_path):
    path = written(tmp_path, "train.txt", "a\nb\nc\n")
    written(tmp_path, "train.label", "1\n\n0\n")
    assert "line 2" in refused(path)
    lenient = reading(skips_bad=True)
    assert pairs_of(path, lenient) == [("a", "1"), ("c", "0")]
    assert sum(lenient.complaints.counts.values()) == 1


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("side", ["train.txt", "train.label"])
def test_a_bad_line_on_one_side_takes_its_other_side_along(tmp_path, side, number):
    files = {"train.txt": [b"a", b"b", b"c"], "train.label": [b"1", b"0", b"1"]}
    expected = [(t.decode(), n.decode()) for t, n in zip(*files.values(), strict=True)]
    files[side][number - 1] = b"\xff"
    for name, lines in files.items():
        written(tmp_path, name, b"\n".join(lines) + b"\n")
    assert f"{side}, line {number}: " in refused(tmp_path / "train.txt")
    lenient = reading(skips_bad=True)
    del expected[number - 1]
    assert pairs_of(tmp_path / "train.txt", lenient) == expected
    assert sum(lenient.complaints.counts.values()) == 1


@pytest.mark.parametrize("skips_bad", [False, True])
@pytest.mark.parametrize("data", [b"", b"text,label\n", b"text,label\n\xff,1\n", b'{"text": 1'])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_table_without_examples_is_refused_by_name(tmp_path, data, suffix, skips_bad):
    assert f"a{suffix}" in refused(written(tmp_path, f"a{suffix}", data), skips_bad=skips_bad)


@pytest.mark.parametrize("text", ['"\\ud800"', '"\\u0000"', "null"])
def test_text_that_is_none_is_named_or_counted(tmp_path, text):
    lines = [f'{{"text": {text}, "label": 1}}', '{"text": "b", "label": 0}']
    path = written(tmp_path, "a.jsonl", "\n".join(lines))
    assert "a.jsonl, line 1: " in refused(path)
    assert pairs_of(path, reading(skips_bad=True)) == [("b", "0")]


def test_texts_already_cut_are_read_as_people_write_them(tmp_path):
    path = written(tmp_path, "train.review.spm", "\u2581l ' \u2581\u00e9t \u00e9\n")
    written(tmp_path, "train.label", "1\n")
    assert pairs_of(path) == [("l' \u00e9t\u00e9", "1")]


@pytest.mark.shared_data
@pytest.mark.skipif(not SHARED.is_dir(), reason=f"there is no {SHARED}")
@pytest.mark.parametrize(("name", "count"), [("train", 1_600), ("valid", 400), ("test", 2_000)])
def test_the_documents_reviews_load(name, count):
    examples = read_examples(str(SHARED / f"{name}.review.spm"), reading(), NO_COLUMNS)
    assert len(examples) == count
    assert sum(example.label == "1" for example in examples) == count // 2
    assert not any("\u2581" in example.text or not example.text.strip() for example in examples)
