"""A sealed JSON file is read as it was written, or not at all; so is a file that was recorded."""

import contextlib
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.errors import DamagedFileError, FileError
from headstart.files import (
    json_digest,
    read_checked,
    read_sealed_json,
    write_bytes,
    write_json,
    write_sealed_json,
)

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
).filter(lambda value: "Infinity" not in json.dumps(value))
VALUE = {"step": 12, "rate": 0.5, "names": ["é"], "is": True}


@settings(deadline=None, max_examples=25)
@given(value=JSON_VALUES)
def test_a_sealed_value_survives_the_round_trip(value):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        write_sealed_json(path, value)
        assert read_sealed_json(path) == value


def test_no_flipped_bit_changes_what_is_read(tmp_path):
    path = tmp_path / "file"
    write_sealed_json(path, VALUE)
    data, num_passed = path.read_bytes(), 0
    for place in range(len(data)):
        flipped = data[place] ^ (1 << place % 8)
        path.write_bytes(data[:place] + bytes([flipped]) + data[place + 1 :])
        with contextlib.suppress(DamagedFileError):
            assert read_sealed_json(path) == VALUE, place
            num_passed += 1
    # A blank of the layout may become another blank; nothing else passes.
    assert num_passed < 0.1 * len(data)


@pytest.mark.parametrize("length", [0, 1, 40, -3, -2])
def test_a_sealed_file_cut_short_is_noticed(tmp_path, length):
    path = tmp_path / "file"
    write_sealed_json(path, VALUE)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(DamagedFileError, match=str(path)):
        read_sealed_json(path)


@pytest.mark.parametrize("value", [VALUE, [VALUE], "text", None, {"sha256": json_digest(None)}])
def test_what_was_never_sealed_is_called_damaged(tmp_path, value):
    path = tmp_path / "file"
    write_json(path, value)
    with pytest.raises(DamagedFileError, match=r"its content is not what was written"):
        read_sealed_json(path)


def test_the_digest_is_that_of_the_value_whatever_its_layout(tmp_path):
    path = tmp_path / "file"
    write_sealed_json(path, VALUE)
    path.write_text(json.dumps(json.loads(path.read_text()), separators=(",", ":"), sort_keys=True))
    assert read_sealed_json(path) == VALUE
    assert json_digest({"a": 1, "b": 2}) == json_digest({"b": 2, "a": 1})
    assert json_digest([1, 2]) != json_digest([2, 1])


def test_a_recorded_file_is_read_if_its_bytes_are_those_recorded(tmp_path):
    path = tmp_path / "file"
    digest = write_bytes(path, b"content")
    assert read_checked(path, digest) == b"content"
    path.write_bytes(b"contenT")
    with pytest.raises(DamagedFileError, match=f"{path} is damaged: its SHA-256 is "):
        read_checked(path, digest)


def test_a_recorded_file_that_is_gone_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(FileError, match=r"missing: No such file or directory\."):
        read_checked(tmp_path / "missing", "0" * 64)
