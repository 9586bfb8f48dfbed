"""A folder for one process alone, which the system frees when that process is gone."""

import contextlib
import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from headstart.errors import FileError, LockedError
from headstart.files import make_folder, reason, write_error

# How soon it is noticed that a folder has become free.
SECONDS_BETWEEN_TRIES = 0.2


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds a folder for this process alone; the system frees it when the process is gone.

    A folder that was made for it goes again where the block fails and has left nothing there.
    """
    path, is_new = folder / ".lock", not folder.exists()
    try:
        make_folder(folder)
        handle = path.open("a+b")
    except OSError as error:
        raise write_error(path, error, 0) from error
    with handle:
        try:
            # Whoever made the folder may have removed it since it was opened here.
            is_ours = _try_lock(handle) and os.path.samestat(os.fstat(handle.fileno()), path.stat())
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
            if is_new:
                _remove_unused(folder, path)
            raise


def _remove_unused(folder: Path, lock: Path) -> None:
    """Removes a folder that holds nothing but its lock, where the system lets us."""
    with contextlib.suppress(OSError):
        if list(folder.iterdir()) == [lock]:
            lock.unlink()
            folder.rmdir()


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
        with (folder / ".lock").open("r+b") as handle:
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
