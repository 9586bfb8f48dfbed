"""Opening a file as bytes, whatever it is compressed with, and knowing how far one has read."""

import bz2
import contextlib
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, cast

from headstart.errors import DataError

NUM_BUFFER_BYTES = 1 << 18


class Meter:
    """Counts the bytes read from disk, compressed as they stand there, for a progress bar."""

    def __init__(self) -> None:
        self.num_bytes = 0


class MeteredFile(io.RawIOBase):
    """A file that adds to a meter what is read from it."""

    def __init__(self, path: Path, meter: Meter) -> None:
        self._handle = path.open("rb", buffering=0)
        self._meter = meter

    def readable(self) -> bool:
        """Says that it can be read."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Reads into a buffer, and counts."""
        count = self._handle.readinto(buffer)
        self._meter.num_bytes += count
        return count

    def close(self) -> None:
        """Closes the file."""
        self._handle.close()
        super().close()


def open_xz(raw: IO[bytes]) -> IO[bytes]:
    """Opens a stream of XZ; whoever opened `raw` closes it."""
    return cast(IO[bytes], lzma.LZMAFile(filename=raw))


def open_zstandard(raw: IO[bytes]) -> IO[bytes]:
    """Opens a stream of Zstandard frames."""
    import zstandard

    reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
    return cast(IO[bytes], io.BufferedReader(reader, NUM_BUFFER_BYTES))


OPENERS: Mapping[str, Callable[[IO[bytes]], IO[bytes]]] = {
    ".gz": lambda raw: cast(IO[bytes], gzip.GzipFile(fileobj=raw)),
    ".bz2": lambda raw: cast(IO[bytes], bz2.BZ2File(raw)),
    ".xz": open_xz,
    ".zst": open_zstandard,
}


def without_compression(path: Path) -> Path:
    """Returns the name that a file would have if it were not compressed."""
    return path.with_suffix("") if path.suffix.lower() in OPENERS else path


@contextlib.contextmanager
def open_bytes(path: Path, meter: Meter) -> Iterator[IO[bytes]]:
    """Opens a file for reading as it was before it was compressed."""
    try:
        raw = io.BufferedReader(MeteredFile(path, meter), NUM_BUFFER_BYTES)
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error
    with raw:
        opener = OPENERS.get(path.suffix.lower())
        try:
            yield opener(raw) if opener else raw
        except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
            raise damaged(path, error) from error
        except OSError as error:
            # bz2 says "Invalid data stream" as an OSError without a number of the system's.
            if error.errno is None:
                raise damaged(path, error) from error
            raise


def damaged(path: Path, error: Exception) -> DataError:
    """Returns the error for a compressed file that cannot be read to its end."""
    return DataError(f"{path} is cut short or damaged ({error}). Fetch or compress it again.")
