"""The log of a run: one JSON object a line, cut back to where a checkpoint saw it."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from headstart.errors import DamagedFileError, FileError
from headstart.files import write_bytes

# What a clock wrote; everything else is the same in a resumed run as in an uninterrupted one.
CLOCK_FIELDS = ("seconds", "tokens_per_second")


class RunLog:
    """Appends lines, and knows how long the log is and what it says."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._hash = hashlib.sha256()
        self._num_bytes = 0

    @property
    def is_begun(self) -> bool:
        """Whether there is a log of an earlier process that has anything to say."""
        return self.path.is_file() and self.path.stat().st_size > 0

    def cut_back(self, mark: Mapping[str, object] | None, warn: Callable[[str], None]) -> None:
        """Takes up the log where a checkpoint saw it; without a mark, it begins anew."""
        wanted = int(str(mark["num_bytes"])) if mark else 0
        try:
            data = self.path.read_bytes()[:wanted] if self.path.exists() else b""
        except OSError as error:
            raise FileError(f"Cannot read {self.path}: {error.strerror}.") from error
        if mark and hashlib.sha256(data).hexdigest() != mark["sha256"]:
            warn(f"{self.path} is damaged before step {mark['step']}; what can be read is kept.")
            data = b"".join(line for line in data.splitlines(keepends=True) if is_row(line))
        write_bytes(self.path, data)
        self._hash = hashlib.sha256(data)
        self._num_bytes = len(data)

    def write(self, row: Mapping[str, object]) -> None:
        """Appends one line."""
        line = json.dumps(row, allow_nan=False, ensure_ascii=False).encode() + b"\n"
        try:
            with self.path.open("ab") as handle:
                handle.write(line)
        except OSError as error:
            raise FileError(
                f"Cannot write {self.path}: {error.strerror}. Free some space, then resume the run."
            ) from error
        self._hash.update(line)
        self._num_bytes += len(line)

    def mark(self, step: int) -> dict[str, object]:
        """Returns what the log is now, once it is on the disk."""
        try:
            with self.path.open("ab") as handle:
                os.fsync(handle.fileno())
        except OSError as error:
            raise FileError(f"Cannot write {self.path}: {error.strerror}.") from error
        return {"step": step, "num_bytes": self._num_bytes, "sha256": self._hash.hexdigest()}


def is_row(line: bytes) -> bool:
    """Whether a line is a whole one, and can be read."""
    try:
        return line.endswith(b"\n") and isinstance(json.loads(line), dict)
    except ValueError:
        return False


def read_log(path: Path) -> Iterator[dict[str, object]]:
    """Yields the lines of a log; a last line that a kill cut short is none."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise FileError(f"Cannot read {path}: {error.strerror}.") from error
    for number, line in enumerate(lines[:-1], start=1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DamagedFileError(f"{path}, line {number}, is no JSON.") from error
        if isinstance(row, dict):
            yield row
