"""Labelled text as a table that can be read again."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from headstart.files import durable_file

EXAMPLE_COLUMNS = ("text", "label", "group")


def write_examples(path: Path, rows: Iterable[tuple[str, str, str]]) -> None:
    """Writes a CSV of texts with their labels and what they must not be split from."""
    with durable_file(path) as file:
        for cells in (EXAMPLE_COLUMNS, *rows):
            line = io.StringIO(newline="")
            # All in quotes: left to itself, the writer overlooks a lone carriage return.
            csv.writer(line, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(cells)
            file.write(line.getvalue().encode())
