"""A folder is there whole or not at all, goes whole or not at all, and needs room."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from headstart import files
from headstart.errors import FileError
from headstart.files import (
    PART,
    durable_folder,
    remove_folder,
    require_space,
    sweep,
    write_bytes,
)

CODES = [errno.ENOSPC, errno.EIO, errno.EACCES]
NUM_KILLS = 6

MAKE_AND_REMOVE_FOR_EVER = """
import sys
from pathlib import Path
from headstart.files import durable_folder, remove_folder, write_bytes
path = Path(sys.argv[1])
while True:
    with durable_folder(path) as beside:
        for name in "abc":
            write_bytes(beside / name, name.encode() * 10_000)
    print("made", flush=True)
    remove_folder(path)
"""


def write_two_files(path: Path) -> None:
    with durable_folder(path) as beside:
        write_bytes(beside / "one", b"1")
        write_bytes(beside / "two", b"2")


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def failing(code: int):
    def fail(*_arguments, **_options):
        raise OSError(code, os.strerror(code))

    return fail


def test_a_folder_appears_with_all_its_files_when_the_block_ends(tmp_path):
    path = tmp_path / "above" / "folder"
    with durable_folder(path) as beside:
        write_bytes(beside / "one", b"1")
        assert not path.exists()
        assert beside.parent == path.parent
    assert tree(path) == ["one"]
    assert tree(tmp_path) == ["above", "above/folder", "above/folder/one"]


@pytest.mark.parametrize("raised", [ValueError("ours"), KeyboardInterrupt(), SystemExit(3)])
def test_an_exception_inside_the_block_leaves_nothing_and_passes_unchanged(tmp_path, raised):
    def fail_halfway():
        with durable_folder(tmp_path / "folder") as beside:
            write_bytes(beside / "one", b"1")
            raise raised

    with pytest.raises(type(raised)) as caught:
        fail_halfway()
    assert caught.value is raised
    assert tree(tmp_path) == []


def test_a_folder_that_is_there_is_not_written_over(tmp_path):
    write_bytes(tmp_path / "folder" / "old", b"0")
    with pytest.raises(FileError, match=f"Cannot write {tmp_path / 'folder'}: "):
        write_two_files(tmp_path / "folder")
    assert tree(tmp_path) == ["folder", "folder/old"]


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
@pytest.mark.parametrize("call", ["mkdir", "rename"])
def test_a_failed_call_is_explained_and_leaves_no_folder(tmp_path, monkeypatch, call, code):
    with monkeypatch.context() as patch:
        patch.setattr(Path, call, failing(code))
        with pytest.raises(FileError) as caught:
            write_two_files(tmp_path / "folder")
    assert str(caught.value).startswith(f"Cannot write {tmp_path / 'folder'}: ")
    assert caught.value.__cause__.errno == code
    assert tree(tmp_path) == []


def test_a_folder_is_flushed_into_the_one_that_holds_it(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(files, "_sync_folder", flushed.append)
    write_two_files(tmp_path / "folder")
    assert flushed[-1] == tmp_path


def test_a_removed_folder_is_gone_with_all_that_was_in_it(tmp_path):
    write_bytes(tmp_path / "folder" / "below" / "file", b"1")
    remove_folder(tmp_path / "folder")
    assert tree(tmp_path) == []


def test_a_folder_whose_removal_is_cut_off_is_no_longer_under_its_name(tmp_path, monkeypatch):
    write_bytes(tmp_path / "folder" / "file", b"1")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", failing(errno.EIO))
        with pytest.raises(FileError, match=f"Cannot remove {tmp_path / 'folder'}: Input/output"):
            remove_folder(tmp_path / "folder")
    assert not (tmp_path / "folder").exists()
    sweep(tmp_path)
    assert tree(tmp_path) == []


def test_a_folder_that_is_not_there_cannot_be_removed_and_a_sentence_says_so(tmp_path):
    with pytest.raises(FileError, match="missing: No such file or directory"):
        remove_folder(tmp_path / "missing")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_folder_is_whole_or_not_there_whenever_its_maker_is_killed(tmp_path):
    path = tmp_path / "folder"
    for number in range(NUM_KILLS):
        command = [sys.executable, "-c", MAKE_AND_REMOVE_FOR_EVER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            time.sleep(number * 0.003)
            child.send_signal(signal.SIGKILL)
        if path.exists():
            assert [(path / name).read_bytes() for name in "abc"] == [
                name.encode() * 10_000 for name in "abc"
            ]
            remove_folder(path)
        sweep(tmp_path)
        assert tree(tmp_path) == []


def test_a_sweep_takes_what_killed_writers_left_and_nothing_else(tmp_path):
    kept = ["file", ".hidden", "name.part", "folder/.lock", "folder/below/file"]
    left = [f".0123{PART}", f"folder/.4567{PART}", f"folder/.89ab{PART}/file"]
    for name in kept + left:
        write_bytes(tmp_path / name, b"1")
    sweep(tmp_path)
    assert [name for name in tree(tmp_path) if (tmp_path / name).is_file()] == sorted(kept)


def test_a_sweep_that_may_not_remove_something_leaves_it(tmp_path, monkeypatch):
    write_bytes(tmp_path / f".0123{PART}", b"1")
    monkeypatch.setattr(Path, "unlink", failing(errno.EACCES))
    sweep(tmp_path)
    assert tree(tmp_path) == [f".0123{PART}"]


def test_a_sweep_of_what_is_not_there_does_nothing(tmp_path):
    sweep(tmp_path / "missing")


@pytest.mark.parametrize(("free", "is_enough"), [(999, False), (1_000, True), (1_001, True)])
def test_room_is_required_to_the_byte(tmp_path, monkeypatch, free, is_enough):
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=free))
    if is_enough:
        require_space(tmp_path, 1_000, "it")
        return
    with pytest.raises(FileError) as caught:
        require_space(tmp_path, 1_000, "it")
    assert str(caught.value) == (
        f"{tmp_path} has 999 bytes free, but it needs 1,000. Free some space, or choose another "
        "folder."
    )


def test_a_disk_that_does_not_tell_its_room_is_not_called_too_small(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", failing(errno.ENOSYS))
    require_space(tmp_path, 1 << 60, "it")
