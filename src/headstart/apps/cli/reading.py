"""Options that say how text is read, and reading it with progress."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import click

from headstart.apps.cli.options import packed
from headstart.apps.cli.progress import shown_progress
from headstart.corpora.compression import Meter
from headstart.corpora.documents import Document, DocumentKind, Reading, read_documents
from headstart.corpora.places import Complaints
from headstart.corpora.sources import total_bytes


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How files are to be read."""

    documents: DocumentKind
    text_column: str | None
    skip_bad: bool

    def start(self) -> Reading:
        """Returns a reading that has not begun."""
        return Reading(
            meter=Meter(),
            complaints=Complaints(skips_bad=self.skip_bad),
            documents=self.documents,
            text_column=self.text_column,
        )


reading_options = packed(
    "reading",
    ReadingOptions,
    click.option(
        "--documents",
        type=click.Choice(get_args(DocumentKind)),
        default="lines",
        show_default=True,
        help="What a document is in a .txt file.",
    ),
    click.option("--text-column", help="The column of a table that holds the text."),
    click.option("--skip-bad", is_flag=True, help="Skip what cannot be read, and count it."),
)


def read_with_progress(paths: Sequence[Path], reading: Reading, what: str) -> Iterator[Document]:
    """Yields documents while it shows how far the files are read."""
    with shown_progress(what, total_bytes(paths), "bytes") as advance:
        num_shown = 0
        for document in read_documents(paths, reading):
            if reading.meter.num_bytes != num_shown:
                advance(reading.meter.num_bytes - num_shown)
                num_shown = reading.meter.num_bytes
            yield document


def echo_complaints(reading: Reading) -> None:
    """Prints what was skipped, where anything was."""
    for line in reading.complaints.summary():
        click.echo(line, err=True)
