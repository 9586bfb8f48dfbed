"""Ten thousand malformed files: each gives texts or one sentence, never another error or a hang."""

import bz2
import csv
import gzip
import io
import json
import lzma
import signal
from contextlib import contextmanager

import pyarrow
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from headstart.corpora.compression import Meter
from headstart.corpora.documents import Reading, read_documents
from headstart.corpora.examples import ExampleColumns, read_examples
from headstart.corpora.pairs import read_pair_table, read_pairs
from headstart.corpora.places import Complaints
from headstart.errors import HeadstartError

ROWS = [
    ("a plain line", "1", "A"),
    ("l'\u00e9t\u00e9, d\u00e9j\u00e0 \U0001f600", "0", "B"),
    ('commas, "marks"', "1", "A"),
    ("\u2581al re ady \u2581cut", "0", "C"),
]
HEADER = ("text", "label", "target")
# What tears a file open: the letters that formats are made of, and those that no text has.
BURRS = [
    b'"', b",", b"\t", b"\n", b"\r", b"\r\n", b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf",
    b"\xff\xfe", b"{", b"}", b"[", b"\\", b"\\ud800", b"\\u0000", b"NaN", b"null", b"1e999", b'""',
    b'"\n', b"[" * 2_000, b"9" * 400, b"\xc3", b"\x85", b"PAR1", b"\x1f\x8b", b" ", b"\x1a",
]  # fmt: skip
COMPRESS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
EDITS = st.lists(
    st.tuples(st.integers(0, 1 << 16), st.integers(0, 12), st.integers(0, 1 << 16)),
    min_size=1,
    max_size=4,
)
KINDS = st.sampled_from(["lines", "paragraphs", "files"])
LONGEST_SECONDS = 20


def as_csv() -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([HEADER, *ROWS])
    return stream.getvalue().encode()


def as_parquet() -> bytes:
    stream = io.BytesIO()
    columns = dict(zip(HEADER, map(list, zip(*ROWS, strict=True)), strict=True))
    parquet.write_table(pyarrow.table(columns), stream)
    return stream.getvalue()


VALID = {
    ".txt": "".join(f"{text}\n\n" for text, _, _ in ROWS).encode(),
    ".spm": "".join(f"{text}\n" for text, _, _ in ROWS).encode(),
    ".csv": as_csv(),
    ".tsv": "".join("\t".join(row) + "\n" for row in [HEADER, *ROWS]).encode(),
    ".jsonl": "".join(
        json.dumps(dict(zip(HEADER, row, strict=True))) + "\n" for row in ROWS
    ).encode(),
    ".parquet": as_parquet(),
}
CASES = [(suffix, "") for suffix in VALID] + [(".txt", end) for end in COMPRESS if end]
NUM_EACH = 800


def torn(data: bytes, edits) -> bytes:
    """Returns bytes that were cut, doubled, swapped or sprinkled with burrs in some places."""
    for where, what, how in edits:
        place = where % (len(data) + 1)
        before, behind = data[:place], data[place:]
        if what < 5:
            data = before + BURRS[how % len(BURRS)] + behind
        elif what < 7:
            data = before + bytes([how % 256]) + behind[1:]
        elif what < 9:
            data = before + bytes([byte ^ 1 << how % 8 for byte in behind[:1]]) + behind[1:]
        elif what == 9:
            data = before
        elif what == 10:
            data = before + behind[how % 40 :]
        elif what == 11:
            data = before + behind[: how % 40] * 2 + behind
        else:
            data = behind + before
    return data


@contextmanager
def no_hang():
    """Fails, rather than waits, where reading takes far longer than such a file can need."""

    def stop(*_arguments):
        raise TimeoutError(f"still reading after {LONGEST_SECONDS} seconds")

    old = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LONGEST_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def texts_or_sentence(make) -> list[str]:
    """Returns the texts that a reader gave, none where it answered with a sentence."""
    with no_hang():
        try:
            texts = list(make())
        except HeadstartError as error:
            texts, sentence = [], str(error)
        else:
            sentence = "none needed"
    assert sentence
    for text in texts:
        assert "\0" not in text
        text.encode()
    return texts


def reading(kind, skips_bad) -> Reading:
    return Reading(meter=Meter(), complaints=Complaints(skips_bad=skips_bad), documents=kind)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("malformed")


many = settings(
    deadline=None,
    max_examples=NUM_EACH,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize(("suffix", "compression"), CASES)
@many
@given(edits=EDITS, kind=KINDS, skips_bad=st.booleans())
def test_torn_files_give_documents_or_a_sentence(
    folder, suffix, compression, edits, kind, skips_bad
):
    path = folder / f"torn{suffix}{compression}"
    path.write_bytes(torn(COMPRESS[compression](VALID[suffix]), edits))
    for text in texts_or_sentence(lambda: texts_of(path, reading(kind, skips_bad))):
        assert text.strip()


def texts_of(path, started):
    return (document.text for document in read_documents([path], started))


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".txt"])
@many
@given(edits=EDITS, skips_bad=st.booleans(), side=st.integers(0, 1))
def test_torn_files_give_examples_and_pairs_or_a_sentence(folder, suffix, edits, skips_bad, side):
    path, labels = folder / f"pair{suffix}", folder / "pair.label"
    files = [VALID[suffix], b"1\n\n" * len(ROWS)]
    files[side] = torn(files[side], edits)
    path.write_bytes(files[0])
    labels.write_bytes(files[1])
    lenient = reading("lines", skips_bad)
    texts_or_sentence(lambda: labelled(path, lenient))
    texts_or_sentence(lambda: both_sides(path, labels, suffix, lenient))


def labelled(path, started):
    for example in read_examples(str(path), started, ExampleColumns()):
        yield from (example.text, example.label)


def both_sides(path, labels, suffix, started):
    pairs = (
        read_pairs(path, labels, started) if suffix == ".txt" else read_pair_table(path, started)
    )
    for pair in pairs:
        yield from (pair.source, pair.target)
