"""Unlabelled text as a stream of documents, from files of any kind, never held whole."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headstart.corpora.columns import TEXT_NAMES, find_column
from headstart.corpora.compression import Meter
from headstart.corpora.cut_text import is_cut
from headstart.corpora.lines import NUM_LONGEST_BYTES, read_lines
from headstart.corpora.places import Complaints, Place
from headstart.corpora.rows import cell_text
from headstart.corpora.tables import has_rows, table_rows
from headstart.cut_text import joined_pieces
from headstart.errors import DataError

DocumentKind = Literal["lines", "paragraphs", "files"]


@dataclass(frozen=True, slots=True)
class Document:
    """One text and where it begins."""

    text: str
    place: Place
    is_cut: bool = False
    """Whether the text is already pieces, separated by spaces."""

    @property
    def plain(self) -> str:
        """The text as people write it, cut or not."""
        return joined_pieces(self.text) if self.is_cut else self.text


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How files are to be read, how far one has come, and what was wrong on the way."""

    meter: Meter
    complaints: Complaints
    documents: DocumentKind = "lines"
    text_column: str | None = None
    skips_empty: bool = False
    """Whether pairs with an empty side are left out and counted in any case."""

    @staticmethod
    def plain(*, skips_bad: bool = False) -> "Reading":
        """Returns a reading of one document a line."""
        return Reading(meter=Meter(), complaints=Complaints(skips_bad=skips_bad))


def read_documents(paths: Sequence[Path], reading: Reading) -> Iterator[Document]:
    """Yields the documents of files, one after another; blank ones are none."""
    for path in paths:
        num_documents, num_skipped = 0, reading.complaints.counts.total()
        for document in documents_of(path, reading):
            if document.text.strip():
                num_documents += 1
                yield document
        if num_documents == 0 and reading.complaints.counts.total() == num_skipped:
            raise DataError(f"{path} is empty. Name a file that holds text.")


def documents_of(path: Path, reading: Reading) -> Iterator[Document]:
    """Yields the documents of one file, blank ones too."""
    if has_rows(path):
        yield from table_documents(path, reading)
    elif (has_pieces := is_cut(path)) or reading.documents == "lines":
        for number, line in read_lines(path, reading.meter, reading.complaints):
            yield Document(line, Place(path, number), has_pieces)
    else:
        yield from joined_lines(path, reading)


def table_documents(path: Path, reading: Reading) -> Iterator[Document]:
    """Yields the text column of a table."""
    column: str | None = None
    for row in table_rows(path, reading.meter, reading.complaints):
        if column is None:
            column = find_column(row.cells.keys(), reading.text_column, TEXT_NAMES, path, "text")
        text = cell_text(row, column, reading.complaints)
        if text is not None:
            yield Document(text, row.place)


def joined_lines(path: Path, reading: Reading) -> Iterator[Document]:
    """Yields the paragraphs of a file, which blank lines separate, or the whole of it."""
    lines: list[str] = []
    num_characters, first = 0, 1
    for number, line in read_lines(path, reading.meter, reading.complaints):
        is_end = reading.documents == "paragraphs" and not line.strip()
        if not is_end:
            lines.append(line)
            num_characters += len(line) + 1
        if is_end or num_characters > NUM_LONGEST_BYTES:
            # A paragraph without end is given in parts, so that no file need fit the memory.
            yield Document("\n".join(lines), Place(path, first))
            lines, num_characters, first = [], 0, number + 1
    if lines:
        yield Document("\n".join(lines), Place(path, first))
