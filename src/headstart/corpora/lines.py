"""Bytes to lines of text: strict about what is not text, and never holding a line without end."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from headstart.corpora.compression import Meter, open_bytes
from headstart.corpora.places import Complaints, Place
from headstart.errors import DataError

# Longer than any paragraph; a file without line ends should not fill the memory.
NUM_LONGEST_BYTES = 4 << 20
UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def read_lines(path: Path, meter: Meter, complaints: Complaints) -> Iterator[tuple[int, str]]:
    """Yields the good lines of a file with their numbers, without their ends."""
    with open_bytes(path, meter) as stream:
        for number, raw in enumerate(raw_lines(stream), start=1):
            if number == 1:
                raw = without_mark(raw, path)
            text = decoded(raw, Place(path, number), complaints)
            if text is not None:
                yield number, text


def raw_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yields lines of bytes; of one that is too long, its beginning, so that it can be named."""
    while raw := stream.readline(NUM_LONGEST_BYTES + 1):
        yield raw
        while len(raw) > NUM_LONGEST_BYTES and not raw.endswith(b"\n"):
            raw = stream.readline(NUM_LONGEST_BYTES + 1)


def without_mark(raw: bytes, path: Path) -> bytes:
    """Takes the mark of UTF-8 off a first line, and refuses a file of another encoding."""
    if raw.startswith(UTF16_MARKS):
        raise DataError(f"{path} is UTF-16. Convert it first: iconv -f UTF-16 -t UTF-8.")
    return raw.removeprefix(UTF8_MARK)


def decoded(raw: bytes, place: Place, complaints: Complaints) -> str | None:
    """Returns a line as text, or nothing after a complaint about it."""
    if len(raw) > NUM_LONGEST_BYTES:
        limit = f"{NUM_LONGEST_BYTES >> 20} MB"
        complaints.complain(place, f"the line is longer than {limit}", "Cut it into several lines")
        return None
    if b"\0" in raw:
        complaints.complain(place, "there is a NUL byte, which no text has", "Remove it")
        return None
    try:
        return raw.rstrip(b"\r\n").decode()
    except UnicodeDecodeError as error:
        what = f"byte {error.start + 1} (0x{raw[error.start]:02x}) is not UTF-8"
        complaints.complain(place, what, "Convert the file, such as with iconv -f LATIN1 -t UTF-8")
        return None


def is_whole(text: str) -> bool:
    """Whether a text has no half of a surrogate pair, as escapes in JSON can make."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)
