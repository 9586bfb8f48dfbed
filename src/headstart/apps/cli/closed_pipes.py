"""A pipe whose reader has gone: learning goes on without it."""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


# A closed pipe, as Windows may have it too, and a terminal that is gone.
NOBODY_READS = {errno.EPIPE, errno.EIO, *([errno.EINVAL] if sys.platform == "win32" else [])}


def send_nowhere(descriptor: int) -> None:
    """Has all that is written to a descriptor from now on go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


class Unbroken(io.FileIO):
    """A descriptor to which one can write on when nobody reads any longer."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Writes, or drops what nobody reads."""
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in NOBODY_READS:
                raise
            send_nowhere(self.fileno())
            return super().write(data)


@contextmanager
def unbroken_streams() -> Iterator[None]:
    """Lets the block print on where both streams, or one, lead into a pipe that may be closed."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = unbroken(sys.stdout), unbroken(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def unbroken(stream: TextIO) -> TextIO:
    """Returns a stream that outlives its reader; one that is none of the system's stays."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    # Without a buffer, as PYTHONUNBUFFERED has it, the raw one stands in its place.
    raw = getattr(stream.buffer, "raw", stream.buffer)
    if not isinstance(raw, io.FileIO):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(Unbroken(raw.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=True,
    )
