"""A log is appended to line by line, and cut back to where a checkpoint saw it."""

import errno
import hashlib
import json
import os
from pathlib import Path

import pytest

from headstart.errors import DamagedFileError, FileError
from headstart.pipeline.run_log import RunLog, read_log

ROWS = [{"step": step, "loss": 1 / step, "text": "é"} for step in range(1, 7)]


def fail_on_nothing(line: str) -> None:
    raise AssertionError(f"nothing was to be said, but: {line}")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


@pytest.fixture
def log(path):
    log = RunLog(path)
    log.cut_back(None, fail_on_nothing)
    return log


def written(log: RunLog, rows) -> RunLog:
    for row in rows:
        log.write(row)
    return log


def test_what_is_written_is_what_is_read(log, path):
    written(log, ROWS)
    assert list(read_log(path)) == ROWS


def test_a_line_is_on_the_disk_as_soon_as_it_is_written(log, path):
    for number, row in enumerate(ROWS, start=1):
        log.write(row)
        assert len(path.read_bytes().splitlines()) == number


def test_a_mark_says_how_long_the_log_is_and_what_it_says(log, path):
    mark = written(log, ROWS[:3]).mark(3)
    data = path.read_bytes()
    assert mark == {
        "step": 3,
        "num_bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def test_a_log_is_cut_back_to_its_mark_and_gone_on_with(log, path):
    mark = written(log, ROWS[:3]).mark(3)
    written(log, ROWS[3:])
    again = RunLog(path)
    again.cut_back(mark, fail_on_nothing)
    assert list(read_log(path)) == ROWS[:3]
    assert again.mark(3) == mark
    assert written(again, ROWS[3:]).mark(6) == log.mark(6)
    assert list(read_log(path)) == ROWS


def test_half_a_line_behind_the_mark_goes(log, path):
    mark = written(log, ROWS[:3]).mark(3)
    with path.open("ab") as handle:
        handle.write(b'{"step": 4, "lo')
    assert list(read_log(path)) == ROWS[:3]
    RunLog(path).cut_back(mark, fail_on_nothing)
    assert list(read_log(path)) == ROWS[:3]


def test_without_a_mark_a_log_begins_anew(log, path):
    written(log, ROWS)
    RunLog(path).cut_back(None, fail_on_nothing)
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data[: len(data) // 2] + bytes(len(data) - len(data) // 2),
        lambda data: data.replace(b'"step": 2', b'"step"\x002'),
    ],
    ids=["cut short", "emptied", "zeroed", "one byte"],
)
def test_a_damaged_log_is_named_and_what_can_be_read_of_it_is_kept(log, path, damage):
    mark = written(log, ROWS).mark(6)
    path.write_bytes(damage(path.read_bytes()))
    said = []
    again = RunLog(path)
    again.cut_back(mark, said.append)
    assert said == [f"{path} is damaged before step 6; what can be read is kept."]
    kept = list(read_log(path))
    assert [row for row in ROWS if row in kept] == kept
    again.write({"step": 7})
    assert list(read_log(path)) == [*kept, {"step": 7}]
    assert again.mark(7)["num_bytes"] == path.stat().st_size


def test_a_log_that_is_gone_is_named(path):
    said = []
    mark = {"step": 2, "num_bytes": 10, "sha256": "0" * 64}
    RunLog(path).cut_back(mark, said.append)
    assert len(said) == 1
    assert path.read_bytes() == b""


def test_a_value_that_is_no_number_is_refused(log):
    with pytest.raises(ValueError, match="not JSON compliant"):
        log.write({"loss": float("nan")})


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES], ids=errno.errorcode.get)
@pytest.mark.parametrize("call", ["write", "mark", "cut_back"])
def test_a_log_that_cannot_be_written_is_explained_in_a_line(log, path, monkeypatch, call, code):
    def failing(*_arguments, **_options):
        raise OSError(code, os.strerror(code))

    arguments = {"write": ({},), "mark": (1,), "cut_back": (None, fail_on_nothing)}[call]
    monkeypatch.setattr(Path, "open", failing)
    with pytest.raises(FileError) as caught:
        getattr(log, call)(*arguments)
    assert str(caught.value).startswith(("Cannot write ", "Cannot read "))
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_line_that_is_no_json_is_named_by_its_number(path):
    path.write_text(json.dumps(ROWS[0]) + "\nnonsense\n" + json.dumps(ROWS[1]) + "\n")
    with pytest.raises(DamagedFileError, match="line 2, is no JSON"):
        list(read_log(path))


def test_a_log_that_is_not_there_cannot_be_read_and_a_sentence_says_so(path):
    with pytest.raises(FileError, match=f"Cannot read {path}: "):
        list(read_log(path))
