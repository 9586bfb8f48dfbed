"""Bytes to lines of text: strict about what is not text, and never holding a line without end."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from headstart.corpora.compression import Meter, open_bytes
from headstart.corpora.places import Complaints, Place
from headstart.corpora.presence import refuse_foreign
from headstart.errors import DataError

# Longer than any paragraph; a file without line ends should not fill the memory.
NUM_LONGEST_BYTES = 4 << 20
UTF8_MARK = b"\xef\xbb\xbf"
# The longer marks first: one of them begins as one of the shorter.
OTHER_MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


def read_lines(path: Path, meter: Meter, complaints: Complaints) -> Iterator[tuple[int, str]]:
    """Yields the good lines of a file with their numbers, without their ends."""
    for number, line in read_all_lines(path, meter, complaints):
        if line is not None:
            yield number, line.rstrip("\r\n")


def read_all_lines(
    path: Path, meter: Meter, complaints: Complaints
) -> Iterator[tuple[int, str | None]]:
    """Yields every line of a file with its number and its end; a bad one as None."""
    with open_bytes(path, meter) as stream:
        for number, raw in enumerate(raw_lines(stream), start=1):
            line = without_mark(raw, path) if number == 1 else raw
            if line:  # a mark alone is no line
                yield number, decoded(line, Place(path, number), complaints)


def raw_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yields lines of bytes; of one that is too long, its beginning, so that it can be named."""
    # Two more than the longest, for the line's end.
    most = NUM_LONGEST_BYTES + 2
    while raw := stream.readline(most):
        yield raw
        while len(raw) == most and not raw.endswith(b"\n"):
            raw = stream.readline(most)


def without_mark(raw: bytes, path: Path) -> bytes:
    """Takes the mark of UTF-8 off a first line, and refuses a file of another encoding or kind."""
    refuse_foreign(path, raw)
    for mark, encoding in OTHER_MARKS.items():
        if raw.startswith(mark):
            raise DataError(
                f"{path} is {encoding}. Convert it first: iconv -f {encoding} -t UTF-8."
            )
    return raw.removeprefix(UTF8_MARK)


def decoded(raw: bytes, place: Place, complaints: Complaints) -> str | None:
    """Returns a line as text with its end, or nothing after a complaint about it."""
    if len(raw.rstrip(b"\r\n")) > NUM_LONGEST_BYTES:
        limit = f"{NUM_LONGEST_BYTES >> 20} MB"
        complaints.complain(place, f"the line is longer than {limit}", "Cut it into several lines")
        return None
    if b"\0" in raw:
        complaints.complain(place, "there is a NUL byte, which no text has", "Remove it")
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        what = f"byte {error.start + 1} (0x{raw[error.start]:02x}) is not UTF-8"
        complaints.complain(place, what, "Convert the file, such as with iconv -f LATIN1 -t UTF-8")
        return None


def is_whole(text: str) -> bool:
    """Whether a text has no half of a surrogate pair, as escapes in JSON can make."""
    try:
        # Of ASCII nothing need be looked at: it knows what it is.
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False
