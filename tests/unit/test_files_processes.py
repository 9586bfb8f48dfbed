"""Files and locks when other processes write, hold and are killed."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from headstart import locks
from headstart.errors import FileError, LockedError
from headstart.files import check_sha256, write_bytes
from headstart.locks import is_locked, locked

NUM_KILLS = 10
LONGEST_LIFE_SECONDS = 0.05
NUM_LINES = 40_000
NUM_VERSIONS_SEEN = 20

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")

REWRITE_FOR_EVER = f"""
import itertools, sys
from pathlib import Path
from headstart.files import write_bytes
for number in itertools.count(int(sys.argv[2])):
    write_bytes(Path(sys.argv[1]), b"%d\\n" % number * {NUM_LINES})
    print(number, flush=True)
"""

HOLD_FOR_EVER = """
import sys, time
from pathlib import Path
from headstart.locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""

TRY_TO_LOCK = """
import sys
from pathlib import Path
from headstart.errors import FileError, LockedError
from headstart.locks import locked
try:
    with locked(Path(sys.argv[1])):
        print("free")
except LockedError as error:
    print(error)
"""


@contextmanager
def running(script, *arguments):
    """Runs a script until its first line, and kills it at the end of the block."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout.readline()
            yield child
        finally:
            child.send_signal(signal.SIGKILL)


def test_a_file_is_one_of_its_versions_whenever_its_writer_is_killed(tmp_path):
    path, draw, first = tmp_path / "file", random.Random(2), 0
    for _ in range(NUM_KILLS):
        with running(REWRITE_FOR_EVER, path, first):
            time.sleep(draw.uniform(0, LONGEST_LIFE_SECONDS))
        number = int(path.read_bytes().split(b"\n", 1)[0])
        whole = b"%d\n" % number * NUM_LINES
        assert number >= first
        assert path.read_bytes() == whole
        check_sha256(path, hashlib.sha256(whole).hexdigest())
        first = number + 1


def test_a_reader_sees_whole_versions_while_a_writer_rewrites(tmp_path):
    path, seen, started_at = tmp_path / "file", set(), time.monotonic()
    with running(REWRITE_FOR_EVER, path, 0):
        while len(seen) < NUM_VERSIONS_SEEN and time.monotonic() - started_at < 30:
            data = path.read_bytes()
            number = int(data.split(b"\n", 1)[0])
            seen.add(number)
            assert data == b"%d\n" % number * NUM_LINES
    assert len(seen) == NUM_VERSIONS_SEEN


def test_what_a_killed_writer_left_does_not_stop_the_next_one(tmp_path):
    path = tmp_path / "file"
    for _ in range(3):
        with running(REWRITE_FOR_EVER, path, 0):
            pass
    write_bytes(path, b"last")
    assert path.read_bytes() == b"last"


def test_a_second_process_is_refused_at_once_and_told_who_holds_the_folder(tmp_path):
    with running(HOLD_FOR_EVER, tmp_path) as child:
        started_at = time.monotonic()
        with (
            pytest.raises(LockedError, match=rf"\(number {child.pid}\)") as caught,
            locked(tmp_path),
        ):
            pass
        assert time.monotonic() - started_at < 1
        assert str(tmp_path) in str(caught.value)


def test_this_process_number_is_what_another_process_is_told(tmp_path):
    with locked(tmp_path):
        seen = subprocess.check_output(
            [sys.executable, "-c", TRY_TO_LOCK, str(tmp_path)], text=True
        )
    assert f"(number {os.getpid()})" in seen


def test_a_refused_process_does_not_take_the_lock_from_its_holder(tmp_path):
    with running(HOLD_FOR_EVER, tmp_path):
        for _ in range(2):
            with pytest.raises(LockedError), locked(tmp_path):
                pass


def test_a_lock_whose_holder_was_killed_is_free(tmp_path):
    with running(HOLD_FOR_EVER, tmp_path):
        pass
    with locked(tmp_path):
        seen = subprocess.check_output(
            [sys.executable, "-c", TRY_TO_LOCK, str(tmp_path)], text=True
        )
    assert f"(number {os.getpid()})" in seen


def test_a_lock_is_free_after_its_block(tmp_path):
    with locked(tmp_path):
        pass
    assert "free" in subprocess.check_output(
        [sys.executable, "-c", TRY_TO_LOCK, str(tmp_path)], text=True
    )


def test_a_lock_is_free_after_a_block_that_failed_and_the_failure_passes_unchanged(tmp_path):
    failure = OSError("of the caller's own")
    with pytest.raises(OSError, match="of the caller's own") as caught, locked(tmp_path):
        raise failure
    assert caught.value is failure
    with locked(tmp_path):
        pass


def test_locks_of_two_folders_do_not_meet(tmp_path):
    with running(HOLD_FOR_EVER, tmp_path / "one"), locked(tmp_path / "two"):
        pass


def test_a_system_that_knows_no_locks_is_not_called_another_process(tmp_path, monkeypatch):
    import fcntl

    def failing(*_arguments):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", failing)
    with pytest.raises(FileError) as caught, locked(tmp_path):
        pass
    assert "another process" not in str(caught.value)


def test_a_folder_is_locked_for_as_long_as_another_process_holds_it(tmp_path):
    assert not is_locked(tmp_path)
    with running(HOLD_FOR_EVER, tmp_path):
        assert is_locked(tmp_path)
    assert not is_locked(tmp_path)


def test_asking_whether_a_folder_is_locked_neither_makes_nor_keeps_a_lock(tmp_path):
    assert not is_locked(tmp_path / "missing")
    assert list(tmp_path.iterdir()) == []
    with locked(tmp_path):
        pass
    assert not is_locked(tmp_path)
    assert not is_locked(tmp_path)
    with locked(tmp_path):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps files that are open")
def test_a_folder_made_for_work_that_failed_goes_again_unless_something_is_there(tmp_path):
    def fail(folder, *names):
        with locked(folder):
            for name in names:
                (folder / name).touch()
            raise ValueError("bad input")

    (tmp_path / "mine").mkdir()
    for name, more, stays in (("new", [], False), ("begun", ["part"], True), ("mine", [], True)):
        with pytest.raises(ValueError, match="bad input"):
            fail(tmp_path / name, *more)
        assert (tmp_path / name).exists() == stays


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps files that are open")
def test_all_that_was_made_for_work_that_failed_goes_and_nothing_else(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").touch()
    for folder in (tmp_path / "mine", tmp_path / "one" / "two" / "three", tmp_path / "mine" / "x"):
        with pytest.raises(ValueError, match="bad input"), locked(folder):
            raise ValueError("bad input")
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "notes"]
    with locked(tmp_path / "mine"):
        pass
    with pytest.raises(ValueError, match="bad input"), locked(tmp_path / "mine"):
        raise ValueError("bad input")
    assert (tmp_path / "mine" / ".lock").exists()


def test_a_lock_that_was_removed_while_it_was_taken_is_not_held(tmp_path, monkeypatch):
    taken = locks._try_lock

    def removed_meanwhile(handle):
        other = tmp_path / "other"
        other.touch()
        other.replace(tmp_path / ".lock")
        return taken(handle)

    monkeypatch.setattr(locks, "_try_lock", removed_meanwhile)
    with pytest.raises(LockedError), locked(tmp_path):
        pass
