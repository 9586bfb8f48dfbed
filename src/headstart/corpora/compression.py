"""Opening a file as bytes, whatever it is compressed with, and knowing how far one has read."""

import bz2
import contextlib
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Protocol, cast

from headstart.errors import DataError

NUM_BUFFER_BYTES = 1 << 18
# Little at a time: a few bytes can stand for a thousand times as many.
NUM_FEWEST_BYTES, NUM_PART_BYTES = 1 << 6, 1 << 12
NUM_MOST_BYTES = 1 << 20


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


class Decompressor(Protocol):
    """What bz2, lzma and zstandard agree on: one compressed part, and what came behind it."""

    eof: bool
    unused_data: bytes

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes:
        """Returns what more of the part gives, at most so much where it can stop."""


class PartsFile(io.RawIOBase):
    """Compressed parts one after another, of which the last must end and nothing else follow."""

    def __init__(self, raw: IO[bytes], new_part: Callable[[], Decompressor]) -> None:
        self._raw = raw
        self._new_part = new_part
        self._part = new_part()
        self._is_inside = False
        self._waiting = b""
        self._num_bytes = NUM_FEWEST_BYTES

    def readable(self) -> bool:
        """Says that it can be read."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Reads into a buffer, or nothing at the end of the last part."""
        while not self._waiting and self._decompress_more():
            pass
        count = min(len(buffer), len(self._waiting))
        buffer[:count] = self._waiting[:count]
        self._waiting = self._waiting[count:]
        return count

    def _decompress_more(self) -> bool:
        """Decompresses the next few bytes, and says whether there may be more."""
        data = b""
        if self._part.eof:
            # XZ may fill up with zeros between its parts.
            data = self._part.unused_data.lstrip(b"\0")
            self._part, self._is_inside = self._new_part(), False
        if not data and getattr(self._part, "needs_input", True):
            # Those that stop by themselves can be given more than they will take.
            stops = hasattr(self._part, "needs_input")
            data = self._raw.read(NUM_PART_BYTES if stops else self._num_bytes)
            if not self._is_inside:
                data = data.lstrip(b"\0")
            if not data:
                if self._is_inside:
                    raise EOFError("its last part does not end")
                return False
        self._is_inside = True
        if hasattr(self._part, "needs_input"):  # bz2 and lzma stop by themselves
            self._waiting = self._part.decompress(data, NUM_MOST_BYTES)
            return True
        self._waiting = self._part.decompress(data)
        is_large = len(self._waiting) > NUM_MOST_BYTES
        self._num_bytes = (
            max(NUM_FEWEST_BYTES, self._num_bytes // 8)
            if is_large
            else min(self._num_bytes * 2, NUM_PART_BYTES)
        )
        return True


def new_zstandard() -> Decompressor:
    """Returns a decompressor of one Zstandard frame."""
    import zstandard

    return cast(Decompressor, zstandard.ZstdDecompressor().decompressobj())


PARTS: Mapping[str, Callable[[], Decompressor]] = {
    ".bz2": lambda: cast(Decompressor, bz2.BZ2Decompressor()),
    ".xz": lambda: cast(Decompressor, lzma.LZMADecompressor()),
    ".zst": new_zstandard,
}
COMPRESSIONS = (".gz", *PARTS)


def opened(raw: IO[bytes], suffix: str) -> IO[bytes]:
    """Opens a stream as its suffix says it is compressed, if it is."""
    if suffix == ".gz":
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    if suffix in PARTS:
        return cast(IO[bytes], io.BufferedReader(PartsFile(raw, PARTS[suffix]), NUM_BUFFER_BYTES))
    return raw


def without_compression(path: Path) -> Path:
    """Returns the name that a file would have if it were not compressed."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path


def kind_of(path: Path) -> str:
    """Returns the ending by which a file is read: the same bytes may be another text as a table."""
    return without_compression(path).suffix.lower()


@contextlib.contextmanager
def open_bytes(path: Path, meter: Meter) -> Iterator[IO[bytes]]:
    """Opens a file for reading as it was before it was compressed."""
    try:
        raw = io.BufferedReader(MeteredFile(path, meter), NUM_BUFFER_BYTES)
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error
    with raw:
        try:
            yield opened(raw, path.suffix.lower())
        except DataError:
            raise
        except OSError as error:
            # bz2 says "Invalid data stream" as an OSError without a number of the system's.
            if error.errno is None:
                raise damaged(path, error) from error
            raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error
        except (EOFError, lzma.LZMAError, zlib.error) as error:
            raise damaged(path, error) from error
        except Exception as error:
            # Zstandard's own error, which can be named only where zstandard is imported.
            if type(error).__name__ != "ZstdError":
                raise
            raise damaged(path, error) from error


def damaged(path: Path, error: Exception) -> DataError:
    """Returns the error for a compressed file that cannot be read to its end."""
    reason = " ".join(str(error).split()).rstrip(".")
    return DataError(f"{path} is cut short or damaged ({reason}). Fetch or make it again.")
