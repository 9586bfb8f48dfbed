"""A durable file is the old one or the new one, whichever of its calls to the system fails."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headstart.errors import FileError
from headstart.files import durable_file, write_bytes
from headstart.locks import locked

OLD, NEW = b"the old content", b"the new content"
CODES = [errno.ENOSPC, errno.EIO, errno.EACCES]

# Every call to the system that one write makes, in order.
CALLS = (
    "open",
    "write",
    "write",
    "flush",
    "fsync",
    "close",
    "rename",
    "open folder",
    "fsync",
)
NUM_CALLS_TO_RENAME = CALLS.index("rename") + 1

WRITE_BEYOND_A_LIMIT = """
import resource, sys
from pathlib import Path
from headstart.errors import FileError
from headstart.files import write_bytes
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, resource.RLIM_INFINITY))
try:
    write_bytes(Path(sys.argv[1]), bytes(1_000_000))
except FileError as error:
    sys.exit(str(error))
"""


class Faults:
    """Notes each call to the system, and fails the one whose number is given."""

    def __init__(self, fail_at: int | None = None, code: int = errno.EIO) -> None:
        self.fail_at, self.code = fail_at, code
        self.calls: list[str] = []

    def wrap(self, name, call):
        def wrapped(*arguments, **options):
            self.calls.append(name)
            if len(self.calls) - 1 == self.fail_at:
                raise OSError(self.code, os.strerror(self.code))
            return call(*arguments, **options)

        return wrapped

    def install(self, monkeypatch):
        open_file = Path.open
        monkeypatch.setattr(
            Path, "open", self.wrap("open", lambda *given: FaultyHandle(open_file(*given), self))
        )
        monkeypatch.setattr(Path, "replace", self.wrap("rename", Path.replace))
        monkeypatch.setattr(os, "open", self.wrap("open folder", os.open))
        monkeypatch.setattr(os, "fsync", self.wrap("fsync", os.fsync))


class FaultyHandle:
    """An open file whose calls are noted and may fail."""

    def __init__(self, handle, faults: Faults) -> None:
        self.write = faults.wrap("write", handle.write)
        self.flush = faults.wrap("flush", handle.flush)
        self.close = faults.wrap("close", handle.close)
        self.fileno = handle.fileno


def write_in_two_pieces(path: Path):
    with durable_file(path) as file:
        file.write(NEW[:5])
        file.write(NEW[5:])


def write_with(monkeypatch, path: Path, faults: Faults):
    with monkeypatch.context() as patched:
        faults.install(patched)
        write_in_two_pieces(path)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "folder" / "file"
    path.parent.mkdir()
    path.write_bytes(OLD)
    return path


def names_beside(path: Path) -> list[str]:
    return sorted(other.name for other in path.parent.iterdir())


def test_the_list_of_calls_here_is_complete(monkeypatch, path):
    faults = Faults()
    write_with(monkeypatch, path, faults)
    assert tuple(faults.calls) == CALLS
    assert path.read_bytes() == NEW


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
@pytest.mark.parametrize("number", range(NUM_CALLS_TO_RENAME), ids=lambda number: CALLS[number])
def test_the_old_file_is_intact_if_any_call_up_to_the_rename_fails(monkeypatch, path, number, code):
    with pytest.raises(FileError):
        write_with(monkeypatch, path, Faults(number, code))
    assert path.read_bytes() == OLD
    assert names_beside(path) == ["file"]


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
@pytest.mark.parametrize("number", range(NUM_CALLS_TO_RENAME, len(CALLS)))
def test_the_new_file_is_whole_if_a_call_after_the_rename_fails(monkeypatch, path, number, code):
    with pytest.raises(FileError):
        write_with(monkeypatch, path, Faults(number, code))
    assert path.read_bytes() == NEW
    assert names_beside(path) == ["file"]


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
@pytest.mark.parametrize("number", range(len(CALLS)))
def test_a_failed_call_is_explained_in_a_line_that_names_the_file(monkeypatch, path, number, code):
    with pytest.raises(FileError) as caught:
        write_with(monkeypatch, path, Faults(number, code))
    text = str(caught.value)
    assert text.startswith(f"Cannot write {path}: ")
    assert text.endswith(".")
    assert "\n" not in text
    assert caught.value.__cause__.errno == code


def test_a_full_disk_is_called_so_and_its_free_bytes_are_named(monkeypatch, path):
    with pytest.raises(FileError, match=r"the disk is full after [\d,]+ bytes, with [\d,]+ free"):
        write_with(monkeypatch, path, Faults(CALLS.index("fsync"), errno.ENOSPC))


@pytest.mark.parametrize("number", range(NUM_CALLS_TO_RENAME))
def test_no_file_appears_where_there_was_none_if_a_call_fails(monkeypatch, tmp_path, number):
    with pytest.raises(FileError):
        write_with(monkeypatch, tmp_path / "file", Faults(number))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
def test_a_cleaning_up_that_fails_does_not_hide_why_the_write_failed(monkeypatch, path, code):
    faults = Faults(CALLS.index("write"), code)

    def failing(*_arguments, **_options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patched:
        faults.install(patched)
        patched.setattr(Path, "unlink", failing)
        with pytest.raises(FileError):
            write_in_two_pieces(path)
    assert path.read_bytes() == OLD


@pytest.mark.parametrize(
    "raised",
    [ValueError("ours"), KeyboardInterrupt(), SystemExit(3), OSError(errno.ENOSPC, "ours")],
)
def test_an_exception_inside_the_block_leaves_the_old_file_and_passes_unchanged(path, raised):
    def fail_halfway():
        with durable_file(path) as file:
            file.write(NEW)
            raise raised

    with pytest.raises(type(raised)) as caught:
        fail_halfway()
    assert caught.value is raised
    assert path.read_bytes() == OLD
    assert names_beside(path) == ["file"]


def test_a_missing_file_that_the_block_reads_is_not_called_a_write_error(path):
    def copy_what_is_missing():
        with durable_file(path) as file:
            file.write((path.parent / "missing").read_bytes())

    with pytest.raises(FileNotFoundError):
        copy_what_is_missing()
    assert path.read_bytes() == OLD


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits on files")
def test_a_write_that_the_system_itself_stops_leaves_the_old_file(path):
    child = subprocess.run(
        [sys.executable, "-c", WRITE_BEYOND_A_LIMIT, str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert child.stderr.strip() == (
        f"Cannot write {path}: File too large. Choose a folder you can write to."
    )
    assert path.read_bytes() == OLD
    assert names_beside(path) == ["file"]


def test_a_file_cannot_be_written_where_a_folder_is(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match="folder: "):
        write_bytes(tmp_path / "folder", NEW)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_file_cannot_be_written_below_a_file(path):
    with pytest.raises(FileError, match="Cannot write"):
        write_bytes(path / "below", NEW)
    assert path.read_bytes() == OLD


def test_a_folder_that_cannot_be_made_cannot_be_locked_and_a_sentence_says_so(path):
    with pytest.raises(FileError, match="file"), locked(path):
        pass


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
def test_a_lock_that_cannot_be_opened_is_explained_in_a_sentence(monkeypatch, tmp_path, code):
    def failing(*_arguments):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "open", failing)
    with pytest.raises(FileError, match=tmp_path.name), locked(tmp_path):
        pass
