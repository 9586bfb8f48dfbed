"""What is written is what is read, hashed on the way; every failure to read is a sentence."""

import array
import hashlib
import os
import sys
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart import files
from headstart.errors import DamagedFileError, FileError, HeadstartError
from headstart.files import (
    cache_folder,
    check_sha256,
    durable_file,
    read_json,
    sha256_of,
    write_bytes,
    write_json,
)

NUM_BYTES_OF_A_LARGE_FILE = 200 << 20

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def assert_is_one_sentence_about(path: Path, error: BaseException):
    assert str(path) in str(error)
    assert len(str(error).splitlines()) == 1
    assert str(error).endswith(".")


def unreadable_files(folder: Path) -> dict[str, Path]:
    (folder / "folder").mkdir()
    (folder / "bad-json").write_text('{"a": 1,')
    (folder / "bad-utf-8").write_bytes(b'{"a": "\xff\xfe"}')
    (folder / "empty").write_bytes(b"")
    (folder / "two-values").write_text("1 2")
    (folder / "too-many-digits").write_text("9" * 10_000)
    (folder / "too-deep").write_text("[" * 100_000 + "]" * 100_000)
    return {path.name: path for path in folder.iterdir()} | {"missing": folder / "missing"}


@settings(deadline=None, max_examples=25)
@given(pieces=st.lists(st.binary(max_size=200), max_size=5))
def test_pieces_written_in_turn_are_the_file_and_its_digest(pieces):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        with durable_file(path) as file:
            lengths = [file.write(piece) for piece in pieces]
        whole = b"".join(pieces)
        assert path.read_bytes() == whole
        assert lengths == [len(piece) for piece in pieces]
        assert (file.num_bytes, file.sha256) == (len(whole), hashlib.sha256(whole).hexdigest())


@settings(deadline=None, max_examples=25)
@given(data=st.binary(max_size=300))
def test_the_digest_returned_is_the_digest_of_the_file(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        assert write_bytes(path, data) == hashlib.sha256(data).hexdigest() == sha256_of(path)


def test_a_view_of_wide_numbers_is_written_as_its_bytes(tmp_path):
    numbers = array.array("i", range(1_000))
    with durable_file(tmp_path / "file") as file:
        file.write(memoryview(numbers))
    assert (tmp_path / "file").read_bytes() == numbers.tobytes()


def test_nothing_appears_before_the_block_ends(tmp_path):
    with durable_file(tmp_path / "file") as file:
        file.write(b"x" * 100_000)
        file.flush()
        assert not (tmp_path / "file").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_folders_on_the_way_are_made(tmp_path):
    write_bytes(tmp_path / "a" / "b" / "file", b"x")
    assert (tmp_path / "a" / "b" / "file").read_bytes() == b"x"


@pytest.mark.skipif(sys.platform != "linux", reason="finds the flushed folders by Linux's /proc")
def test_folders_made_on_the_way_are_flushed_into_the_folder_that_was_there(tmp_path, monkeypatch):
    flushed, fsync = [], os.fsync

    def recording(descriptor):
        flushed.append(Path(f"/proc/self/fd/{descriptor}").resolve())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", recording)
    write_bytes(tmp_path / "a" / "b" / "file", b"x")
    assert {tmp_path, tmp_path / "a", tmp_path / "a" / "b"} <= set(flushed)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no umask")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_follow_the_umask(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write_bytes(tmp_path / "file", b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


@settings(deadline=None, max_examples=50)
@given(value=JSON_VALUES)
def test_json_survives_the_round_trip(value):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "value.json"
        assert write_json(path, value) == sha256_of(path)
        assert read_json(path) == value


def test_json_is_written_for_people(tmp_path):
    write_json(tmp_path / "value.json", {"name": "Zoë", "sizes": [1]})
    text = (tmp_path / "value.json").read_text(encoding="utf-8")
    assert text == '{\n  "name": "Zoë",\n  "sizes": [\n    1\n  ]\n}\n'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": {1, 2}}, object()])
def test_a_value_that_is_no_json_leaves_the_old_file(tmp_path, value):
    write_json(tmp_path / "value.json", "old")
    with pytest.raises((ValueError, TypeError)):
        write_json(tmp_path / "value.json", value)
    assert read_json(tmp_path / "value.json") == "old"


def test_half_a_character_read_from_json_can_be_written_again_or_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "value.json").write_text('"\\ud800"')
    value = read_json(tmp_path / "value.json")
    try:
        write_json(tmp_path / "copy.json", value)
    except HeadstartError as error:
        assert_is_one_sentence_about(tmp_path / "copy.json", error)
    else:
        assert read_json(tmp_path / "copy.json") == value


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("missing", FileError),
        ("folder", FileError),
        ("bad-json", DamagedFileError),
        ("bad-utf-8", DamagedFileError),
        ("empty", DamagedFileError),
        ("two-values", DamagedFileError),
        ("too-many-digits", DamagedFileError),
        ("too-deep", DamagedFileError),
    ],
)
def test_json_that_cannot_be_read_is_explained_in_a_sentence(tmp_path, name, error):
    path = unreadable_files(tmp_path)[name]
    with pytest.raises(error) as caught:
        read_json(path)
    assert type(caught.value) is error
    assert_is_one_sentence_about(path, caught.value)


@pytest.mark.parametrize("name", ["missing", "folder"])
def test_a_digest_of_what_is_no_file_is_refused_in_a_sentence(tmp_path, name):
    path = unreadable_files(tmp_path)[name]
    with pytest.raises(FileError) as caught:
        sha256_of(path)
    assert_is_one_sentence_about(path, caught.value)


def test_a_large_file_is_hashed_a_piece_at_a_time(tmp_path):
    path = tmp_path / "large"
    path.touch()
    os.truncate(path, NUM_BYTES_OF_A_LARGE_FILE)
    tracemalloc.start()
    try:
        seen = sha256_of(path)
        peak_num_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Of so many zeros, by sha256sum.
    assert seen == "72abf2ca8f36943ebe2e49ca3a51d409ca5f0bfcffab6c9d25643c17c32889da"
    assert peak_num_bytes < 10 << 20


@settings(deadline=None, max_examples=10)
@given(data=st.binary(min_size=1, max_size=12))
def test_every_flipped_bit_is_noticed(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        digest = write_bytes(path, data)
        check_sha256(path, digest)
        for bit in range(8 * len(data)):
            flipped = bytearray(data)
            flipped[bit // 8] ^= 1 << bit % 8
            path.write_bytes(flipped)
            with pytest.raises(DamagedFileError, match="is damaged") as caught:
                check_sha256(path, digest)
            assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: data + b"\0", lambda _: b""]
)
def test_a_file_cut_or_lengthened_is_noticed(tmp_path, damage):
    path = tmp_path / "file"
    digest = write_bytes(path, b"twelve bytes")
    path.write_bytes(damage(b"twelve bytes"))
    with pytest.raises(DamagedFileError, match=digest[:12]):
        check_sha256(path, digest)


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"HEADSTART_CACHE": "/c", "XDG_CACHE_HOME": "/x"}, "/c"),
        ("darwin", {"HEADSTART_CACHE": "/c"}, "/c"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/headstart"),
        ("linux", {"HEADSTART_CACHE": "", "XDG_CACHE_HOME": ""}, "/home/ann/.cache/headstart"),
        ("linux", {}, "/home/ann/.cache/headstart"),
        # The XDG base directory specification: a relative path is invalid and to be ignored.
        ("linux", {"XDG_CACHE_HOME": "relative"}, "/home/ann/.cache/headstart"),
        ("darwin", {"XDG_CACHE_HOME": "/x"}, "/home/ann/Library/Caches/headstart"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/headstart/cache"),
    ],
)
def test_the_cache_lies_where_the_user_or_the_system_says(
    monkeypatch, platform, variables, expected
):
    for name in ("HEADSTART_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"HOME": "/home/ann"} | variables).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(files.sys, "platform", platform)
    assert cache_folder().as_posix() == expected
