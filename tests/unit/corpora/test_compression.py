"""Compressed files: read as they were, and never cut short or altered without a word."""

import bz2
import gzip
import lzma
import random
import tracemalloc

import pytest
import zstandard

from headstart.corpora.compression import Meter, open_bytes, without_compression
from headstart.corpora.documents import Reading, read_documents
from headstart.errors import DataError

COMPRESS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    # With a checksum, as the command zstd writes it.
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
DRAW = random.Random(7)
LINES = [f"line {number} {DRAW.random()} \u00e9t\u00e9 {DRAW.random()}" for number in range(9_000)]
# Several blocks of every format, so that a file cut in the middle has a beginning to be read.
DATA = "".join(f"{line}\n" for line in LINES).encode()
WHOLE = {suffix: compress(DATA) for suffix, compress in COMPRESS.items()}
SUFFIXES = pytest.mark.parametrize("suffix", COMPRESS)
NUM_OFFSETS = 12


def read_bytes(path) -> bytes:
    with open_bytes(path, Meter()) as stream:
        return stream.read()


def read_texts(path) -> list[str]:
    return [document.text for document in read_documents([path], Reading.plain())]


def written(folder, data: bytes, suffix: str):
    path = folder / f"file.txt{suffix}"
    path.write_bytes(data)
    return path


def assert_refused(path) -> None:
    with pytest.raises(DataError) as caught:
        read_texts(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def changed(data: bytes, place: int, bit: int) -> bytes:
    """Returns bytes of which one bit is another."""
    return data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]


def texts_or_refusal(path) -> list[str] | None:
    """Returns the texts of a file, or nothing where it is refused by name."""
    try:
        return read_texts(path)
    except DataError as error:
        return None if str(path) in str(error) else [str(error)]


@SUFFIXES
def test_a_file_is_read_as_it_was_before_it_was_compressed(tmp_path, suffix):
    assert read_bytes(written(tmp_path, WHOLE[suffix], suffix)) == DATA


@SUFFIXES
def test_a_suffix_in_capitals_is_known(tmp_path, suffix):
    assert read_bytes(written(tmp_path, WHOLE[suffix], suffix.upper())) == DATA


def test_a_file_without_such_a_suffix_is_read_as_it_is(tmp_path):
    assert read_bytes(written(tmp_path, WHOLE[".gz"], "")) == WHOLE[".gz"]


@SUFFIXES
def test_several_compressed_parts_in_one_file_are_read_one_after_another(tmp_path, suffix):
    parts = b"".join(
        COMPRESS[suffix](DATA[cut : cut + 100_000]) for cut in range(0, len(DATA), 100_000)
    )
    assert read_bytes(written(tmp_path, parts, suffix)) == DATA


@SUFFIXES
def test_a_file_cut_short_anywhere_is_refused(tmp_path, suffix):
    generator = random.Random(suffix)
    for _ in range(NUM_OFFSETS):
        length = generator.randrange(1, len(WHOLE[suffix]))
        assert_refused(written(tmp_path, WHOLE[suffix][:length], suffix))


@SUFFIXES
@pytest.mark.parametrize("num_missing", range(1, 9))
def test_a_file_without_its_last_bytes_is_refused(tmp_path, suffix, num_missing):
    assert_refused(written(tmp_path, WHOLE[suffix][:-num_missing], suffix))


@SUFFIXES
def test_a_file_with_one_bit_changed_is_refused_or_reads_the_same(tmp_path, suffix):
    generator = random.Random(suffix)
    for _ in range(NUM_OFFSETS):
        place, bit = generator.randrange(len(WHOLE[suffix])), generator.randrange(8)
        path = written(tmp_path, changed(WHOLE[suffix], place, bit), suffix)
        assert texts_or_refusal(path) in (LINES, None), (place, bit)


@SUFFIXES
def test_a_small_file_with_any_bit_changed_is_refused_or_reads_the_same(tmp_path, suffix):
    small = COMPRESS[suffix](b"first\nsecond\n")
    for place in range(len(small)):
        for bit in range(8):
            path = written(tmp_path, changed(small, place, bit), suffix)
            assert texts_or_refusal(path) in (["first", "second"], None), (place, bit)


def test_frames_of_zstandard_that_hold_no_text_are_passed_over(tmp_path):
    # As pzstd writes them before each frame (RFC 8878, 3.1.2).
    note = (0x184D2A50).to_bytes(4, "little") + (5).to_bytes(4, "little") + b"notes"
    frames = [COMPRESS[".zst"](part) for part in (b"first\n", b"second\n")]
    path = written(tmp_path, note + frames[0] + note + frames[1] + note, ".zst")
    assert read_texts(path) == ["first", "second"]


@SUFFIXES
def test_a_damaged_second_part_is_noticed(tmp_path, suffix):
    second = bytearray(COMPRESS[suffix](b"second\n"))
    second[1] ^= 0xFF
    assert_refused(written(tmp_path, COMPRESS[suffix](b"first\n") + bytes(second), suffix))


@SUFFIXES
def test_text_behind_the_compressed_part_is_noticed(tmp_path, suffix):
    assert_refused(
        written(tmp_path, COMPRESS[suffix](b"first\n") + b"second, not compressed\n", suffix)
    )


@SUFFIXES
@pytest.mark.parametrize("data", [b"", b"\n", b"plain text\n", bytes(20)])
def test_a_file_that_is_not_compressed_as_its_name_says_is_refused(tmp_path, suffix, data):
    assert_refused(written(tmp_path, data, suffix))


@pytest.mark.parametrize("suffix", [*COMPRESS, ""])
def test_the_meter_ends_at_the_size_of_the_file_on_disk(tmp_path, suffix):
    path = written(tmp_path, WHOLE.get(suffix, DATA), suffix)
    meter = Meter()
    with open_bytes(path, meter) as stream:
        stream.read(10)
        assert 0 < meter.num_bytes <= path.stat().st_size
        stream.read()
    assert meter.num_bytes == path.stat().st_size


@SUFFIXES
def test_the_meter_moves_while_a_file_is_read(tmp_path, suffix):
    path = written(tmp_path, COMPRESS[suffix](random.Random(1).randbytes(3 << 20)), suffix)
    meter, seen = Meter(), set()
    with open_bytes(path, meter) as stream:
        while stream.read(1 << 16):
            seen.add(meter.num_bytes)
    assert len(seen) > 3


@SUFFIXES
def test_a_file_that_grows_a_thousandfold_is_not_held(tmp_path, suffix):
    path = written(tmp_path, COMPRESS[suffix]((b"z" * 9_999 + b"\n") * 8_000), suffix)
    tracemalloc.start()
    with open_bytes(path, Meter()) as stream:
        num_lines = sum(1 for _ in iter(lambda: stream.readline(1 << 20), b""))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert num_lines == 8_000
    assert peak < 24 << 20


def test_a_file_whose_disk_fails_is_named(tmp_path, monkeypatch):
    from headstart.corpora.compression import MeteredFile

    def failing(_self, _buffer):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(MeteredFile, "readinto", failing)
    assert_refused(written(tmp_path, DATA, ""))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.txt.gz", "a.txt"),
        ("a.csv.ZST", "a.csv"),
        ("a.txt", "a.txt"),
        ("a.b.jsonl.xz", "a.b.jsonl"),
    ],
)
def test_a_name_without_its_compression_says_the_kind_of_file(tmp_path, name, expected):
    assert without_compression(tmp_path / name) == tmp_path / expected
