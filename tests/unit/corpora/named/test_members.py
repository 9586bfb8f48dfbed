"""A member is read as it was packed, up to its limit; everything else is one sentence."""

import bz2
import contextlib
import io
import json
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.corpora.named.members import open_archive, open_bz2, open_member, table_rows
from headstart.errors import DamagedFileError

NUM_BOMB_BYTES = 8 << 20


def zipped(data: bytes) -> io.BytesIO:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("text", data)
    return packed


def read_all(archive, name="text", num_most_bytes=1_000):
    with open_member(archive, name, num_most_bytes) as stream:
        return stream.read()


def assert_is_one_sentence(error):
    assert len(str(error.value).splitlines()) == 1
    assert str(error.value).endswith(".")


@settings(deadline=None, max_examples=50)
@given(data=st.binary(max_size=300), num_spare_bytes=st.integers(0, 3))
def test_a_member_within_its_limit_is_read_whole(data, num_spare_bytes):
    with zipfile.ZipFile(zipped(data)) as archive:
        assert read_all(archive, num_most_bytes=len(data) + num_spare_bytes) == data


def test_a_missing_member_is_named(opened):
    with pytest.raises(DamagedFileError, match=r"There is no a/b\.txt in .*\.whl") as error:
        read_all(opened({"text": b""}), "a/b.txt")
    assert_is_one_sentence(error)


def test_a_member_said_to_be_too_large_is_not_read(opened):
    with pytest.raises(DamagedFileError, match="more than the 1,000 bytes") as error:
        read_all(opened({"text": b"0" * NUM_BOMB_BYTES}))
    assert_is_one_sentence(error)


def test_a_member_that_is_larger_than_it_says_is_refused(opened):
    archive = opened({"text": b"0" * NUM_BOMB_BYTES})
    archive.getinfo("text").file_size = 100
    with pytest.raises(DamagedFileError, match="is damaged") as error:
        read_all(archive)
    assert_is_one_sentence(error)


def test_a_bomb_inside_a_member_stops_at_its_limit():
    bomb = bz2.compress(b"0" * NUM_BOMB_BYTES)
    with pytest.raises(DamagedFileError, match="more than the 1,000 bytes"):
        open_bz2(io.BytesIO(bomb), 1_000, "bomb").read()


@settings(deadline=None, max_examples=200)
@given(place=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_a_changed_byte_is_refused_or_harmless(place, byte):
    data = bytes(range(256)) * 4
    packed = bytearray(zipped(data).getvalue())
    packed[place % len(packed)] = byte
    with (
        contextlib.suppress(DamagedFileError),
        open_archive(io.BytesIO(packed), "wheel") as archive,
    ):
        assert read_all(archive, num_most_bytes=2_000) == data


@pytest.mark.parametrize("num_bytes", [0, 1, 60, 100])
def test_what_is_cut_short_is_no_archive(num_bytes):
    packed = zipped(b"text" * 100).getvalue()[:num_bytes]
    with (
        pytest.raises(DamagedFileError, match=r"^wheel is damaged") as error,
        open_archive(io.BytesIO(packed), "wheel"),
    ):
        pass
    assert_is_one_sentence(error)


@pytest.mark.parametrize(
    ("data", "read"),
    [
        (b"\xff\xfe", lambda stream: list(table_rows(stream, ("a",), "table"))),
        (b'a\n"open', lambda stream: list(table_rows(stream, ("a",), "table"))),
        (b"{", json.load),
        (b"[" * 100_000, json.load),
        (b"BZh9garbage", lambda stream: open_bz2(stream, 100, "text").read()),
        (bz2.compress(b"whole")[:-4], lambda stream: open_bz2(stream, 100, "text").read()),
    ],
)
def test_content_that_cannot_be_read_is_one_sentence(opened, data, read):
    archive = opened({"text": data})
    with (
        pytest.raises(DamagedFileError, match=r"^text is damaged") as error,
        open_member(archive, "text", 1_000_000) as stream,
    ):
        read(stream)
    assert_is_one_sentence(error)


def test_rows_keep_quotes_commas_and_line_ends():
    table = b'a,b,c\n"x, ""y""","two\r\nlines",\n'
    rows = list(table_rows(io.BytesIO(table), ("a", "b"), "table"))
    assert rows == [{"a": 'x, "y"', "b": "two\r\nlines", "c": ""}]


@pytest.mark.parametrize(
    ("table", "what"), [(b"", "no column 'a'"), (b"b,c\n", "no column 'a'"), (b"b,a\n1\n", "row 1")]
)
def test_a_table_without_its_columns_is_refused(table, what):
    with pytest.raises(DamagedFileError, match=what) as error:
        list(table_rows(io.BytesIO(table), ("a",), "table"))
    assert_is_one_sentence(error)
