"""Durable files: written beside the target, flushed to the disk, hashed, then renamed into place.

A reader sees the old file or the new one, never a half of either, whatever kills the writer.
"""

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NoReturn

from headstart.errors import DamagedFileError, FileError

NUM_BYTES_PER_READ = 1 << 20
CACHE_VARIABLE = "HEADSTART_CACHE"
# The end of the names of what is still being written.
PART = ".part"


class DurableFile:
    """A binary file that hashes what passes through it on its way to the disk."""

    def __init__(self, handle: IO[bytes], path: Path) -> None:
        self._handle = handle
        self._path = path
        self._hash = hashlib.sha256()
        self.num_bytes = 0

    def write(self, data: bytes | memoryview) -> int:
        """Writes all of `data` and returns its length."""
        view = memoryview(data).cast("B")
        self.num_bytes += view.nbytes
        self._hash.update(view)
        with self.explained():
            return self._handle.write(view)

    def flush(self) -> None:
        """Hands what is buffered to the operating system."""
        with self.explained():
            self._handle.flush()

    @property
    def sha256(self) -> str:
        """The hexadecimal SHA-256 of everything written so far."""
        return self._hash.hexdigest()

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Turns the system's error into a sentence that names the file."""
        try:
            yield
        except OSError as error:
            raise write_error(self._path, error, self.num_bytes) from error


@contextlib.contextmanager
def durable_file(path: Path) -> Iterator[DurableFile]:
    """Opens a file that appears at `path`, whole and on the disk, only if the block succeeds."""
    # Through a link, as any other write; the rename would put a file in the link's place.
    target = Path(os.path.realpath(path))
    # A short name of its own, since the target's may already be as long as a name can be.
    beside = target.parent / f".{secrets.token_hex(8)}{PART}"
    try:
        make_folder(target.parent)
        handle = beside.open("xb")
    except OSError as error:
        raise write_error(path, error, 0) from error
    file = DurableFile(handle, path)
    try:
        yield file
        with file.explained():
            handle.flush()
            os.fsync(handle.fileno())
            handle.close()
            if target.exists():
                shutil.copymode(target, beside)
            beside.replace(target)
            _sync_folder(target.parent)
    except BaseException:
        # A full disk fails the close too, and a lost one the removal; the first error is told.
        with contextlib.suppress(OSError):
            handle.close()
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def durable_folder(path: Path) -> Iterator[Path]:
    """Yields an empty folder that appears at `path`, whole, only if the block succeeds."""
    beside = path.parent / f".{secrets.token_hex(8)}{PART}"
    try:
        make_folder(beside)
    except OSError as error:
        raise write_error(path, error, 0) from error
    try:
        yield beside
        try:
            beside.rename(path)
            _sync_folder(path.parent)
        except OSError as error:
            raise write_error(path, error, 0) from error
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def remove_folder(path: Path) -> None:
    """Removes a folder so that a kill on the way leaves it whole or gone, never a half of it."""
    beside = path.parent / f".{secrets.token_hex(8)}{PART}"
    try:
        path.rename(beside)
        shutil.rmtree(beside)
    except OSError as error:
        raise FileError(f"Cannot remove {path}: {reason(error)}.") from error


def sweep(folder: Path) -> None:
    """Removes what killed writers left beside their targets; only for whoever holds the lock."""
    for path in folder.rglob(f".*{PART}"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):  # it takes space, and does no other harm
                path.unlink()


def require_space(folder: Path, num_bytes: int, what: str) -> None:
    """Raises an error unless the disk has room for so many bytes more, or does not tell."""
    try:
        num_free_bytes = shutil.disk_usage(folder).free
    except OSError:
        return  # the writing itself will tell
    if num_free_bytes < num_bytes:
        raise FileError(
            f"{folder} has {num_free_bytes:,} bytes free, but {what} needs {num_bytes:,}. "
            "Free some space, or choose another folder."
        )


def write_bytes(path: Path, data: bytes | memoryview) -> str:
    """Writes a whole file durably and returns its SHA-256."""
    with durable_file(path) as file:
        file.write(data)
    return file.sha256


def write_json(path: Path, value: object) -> str:
    """Writes one JSON value durably and returns the file's SHA-256."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        data = text.encode()
    except UnicodeEncodeError:  # half a surrogate pair has no UTF-8, but it has an escape
        data = json.dumps(value, indent=2, allow_nan=False).encode()
    return write_bytes(path, data + b"\n")


def read_json(path: Path) -> object:
    """Reads one JSON value, or says in a sentence why it cannot."""
    try:
        return json.loads(path.read_bytes(), parse_constant=_refuse_constant)
    except OSError as error:
        raise FileError(f"Cannot read {path}: {reason(error)}.") from error
    except (ValueError, RecursionError) as error:  # bad JSON, bad UTF-8, nesting without end
        raise DamagedFileError(
            f"{path} is not valid JSON ({error}). Restore it from a copy."
        ) from error


def write_sealed_json(path: Path, value: object) -> str:
    """Writes one JSON value with its own SHA-256 beside it, so that any damage is noticed."""
    return write_json(path, {"sha256": json_digest(value), "value": value})


def read_sealed_json(path: Path) -> object:
    """Reads one JSON value and checks that it is the one that was written."""
    sealed = read_json(path)
    if (
        not isinstance(sealed, dict)
        or sealed.keys() != {"sha256", "value"}
        or sealed["sha256"] != json_digest(sealed["value"])
    ):
        raise DamagedFileError(
            f"{path} is damaged: its content is not what was written. Restore it from a copy."
        )
    value: object = sealed["value"]
    return value


def json_digest(value: object) -> str:
    """Returns the SHA-256 of a JSON value, whatever its layout."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file, read a piece at a time."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as handle:
            while piece := handle.read(NUM_BYTES_PER_READ):
                digest.update(piece)
    except OSError as error:
        raise FileError(f"Cannot read {path}: {reason(error)}.") from error
    return digest.hexdigest()


def check_sha256(path: Path, expected: str) -> None:
    """Raises an error unless the file's bytes are the ones whose SHA-256 was recorded."""
    _require_digest(path, sha256_of(path), expected)


def read_checked(path: Path, expected: str) -> bytes:
    """Reads a whole file, whose bytes must be the ones whose SHA-256 was recorded."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileError(f"Cannot read {path}: {reason(error)}.") from error
    _require_digest(path, hashlib.sha256(data).hexdigest(), expected)
    return data


def _require_digest(path: Path, seen: str, expected: str) -> None:
    """Raises an error unless the SHA-256 of a file is the one that was recorded."""
    if seen != expected:
        raise DamagedFileError(
            f"{path} is damaged: its SHA-256 is {seen[:12]}… where {expected[:12]}… was recorded. "
            "Restore it from a copy, or make it again."
        )


def require_not_read(written: Iterable[Path], read: Iterable[Path], option: str) -> None:
    """Raises an error where a file to be written is one of those that are read."""
    sources = [path for path in read if path.exists()]
    for target in written:
        if target.exists() and any(target.samefile(path) for path in sources):
            raise FileError(
                f"{option} would replace {target}, which is read. Choose another place."
            )


def check_writable(folder: Path) -> None:
    """Raises an error, before any work is done for it, where a folder could not be written to."""
    try:
        present = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        with tempfile.TemporaryFile(dir=present):
            pass
    except OSError as error:
        raise write_error(folder, error, 0) from error


def cache_folder() -> Path:
    """Returns where this user's machine keeps what can be made again."""
    if override := os.environ.get(CACHE_VARIABLE):
        return Path(override)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "headstart"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "headstart" / "cache"
    # The specification says to ignore a path that is not absolute.
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (chosen if chosen.is_absolute() else Path.home() / ".cache") / "headstart"


def make_folder(folder: Path) -> None:
    """Makes a folder and those above it, each one flushed into the folder that holds it."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    """Makes a rename survive a power cut; Windows cannot open folders and does not need it."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_error(path: Path, error: OSError, num_bytes: int) -> FileError:
    """Says which file could not be written and, where space ran out, how much there is."""
    if error.errno != errno.ENOSPC:
        return FileError(f"Cannot write {path}: {reason(error)}. Choose a folder you can write to.")
    with contextlib.suppress(OSError):
        num_free_bytes = shutil.disk_usage(path.parent).free
        return FileError(
            f"Cannot write {path}: the disk is full after {num_bytes:,} bytes, with "
            f"{num_free_bytes:,} free. Free some space and try again; nothing was lost."
        )
    return FileError(f"Cannot write {path}: the disk is full. Free some space and try again.")


def _refuse_constant(name: str) -> NoReturn:
    """Refuses the NaN and infinities that Python would read and that no JSON has."""
    raise ValueError(f"{name} is no JSON value")


def reason(error: OSError) -> str:
    """Returns the operating system's words for an error, such as "Permission denied"."""
    return error.strerror or str(error)
