"""A folder for one process alone, which the system frees when that process is gone."""

import contextlib
import errno
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

from headstart.errors import FileError, LockedError
from headstart.files import make_folder, reason, write_error

# The file in a folder that the system locks.
LOCK = ".lock"
# How soon it is noticed that a folder has become free.
SECONDS_BETWEEN_TRIES = 0.2
# How often a folder is made anew that somebody removes before anything is in it.
NUM_TRIES = 3


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds a folder for this process alone; the system frees it when the process is gone.

    What was made for it, the lock, the folder and those above it, goes again where the block fails
    and has left nothing there.
    """
    path = folder / LOCK
    made = [place for place in (path, folder, *folder.parents) if not place.exists()]
    before = _names(folder)
    try:
        handle = _opened(path)
    except OSError as error:
        _remove_folders(made)
        raise write_error(path, error, 0) from error
    with handle:
        try:
            is_ours = _try_lock(handle) and _is_still(handle, path)
            if is_ours:
                handle.truncate(0)
                handle.write(str(os.getpid()).encode())
                handle.flush()
        except OSError as error:
            raise FileError(
                f"Cannot lock {path}: {reason(error)}. Choose another folder."
            ) from error
        if not is_ours:
            handle.seek(0)
            holder = handle.read(20).decode(errors="replace").strip() or "unknown"
            raise LockedError(
                f"{folder} is in use by another process (number {holder}). "
                "Wait for it to end, stop it, or choose another folder."
            )
        try:
            yield
        except BaseException:
            if _names(folder) == before | {LOCK}:
                with contextlib.suppress(OSError):
                    if path in made:
                        path.unlink()
                _remove_folders(made)
            raise


def _opened(path: Path) -> IO[bytes]:
    """Opens a lock in a folder that is made for it, even while others remove theirs again."""
    for _ in range(NUM_TRIES - 1):
        with contextlib.suppress(FileNotFoundError):
            make_folder(path.parent)
            return path.open("a+b")
    make_folder(path.parent)
    return path.open("a+b")


def _is_still(handle: IO[bytes], path: Path) -> bool:
    """Whether an open file is the one of its name: whoever made it may have removed it since."""
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _names(folder: Path) -> set[str]:
    """Returns what a folder holds, nothing where it is none or may not be looked into."""
    with contextlib.suppress(OSError):
        return {path.name for path in folder.iterdir()}
    return set()


def _remove_folders(made: Iterable[Path]) -> None:
    """Removes those of some places, the innermost first, that are empty folders."""
    for place in made:
        with contextlib.suppress(OSError):
            place.rmdir()


@contextlib.contextmanager
def locked_in_turn(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Holds a folder for this process alone, after whoever holds it now; says so where it waits."""
    has_said = False
    with contextlib.ExitStack() as held:
        while True:
            try:
                held.enter_context(locked(folder))
                break
            except LockedError as error:
                if not has_said:
                    say(f"Waiting: {str(error).partition('. ')[0]}.")
                    has_said = True
                time.sleep(SECONDS_BETWEEN_TRIES)
        yield


def is_locked(folder: Path) -> bool:
    """Whether another process is working in a folder."""
    try:
        with (folder / LOCK).open("r+b") as handle:
            return not _try_lock(handle)
    except OSError:  # no lock was ever made there, or it is not ours to look at
        return False


def _try_lock(handle: IO[bytes]) -> bool:
    """Takes the operating system's lock on an open file, without waiting."""
    try:
        if sys.platform == "win32":
            import msvcrt

            # Far beyond the process number, which others must be able to read.
            handle.seek(1 << 20)
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in {errno.EAGAIN, errno.EACCES, errno.EDEADLK}:
            return False
        raise  # a file system without locks, say, is not a lock that someone holds
    return True
