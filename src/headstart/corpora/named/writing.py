"""The layouts of prepared files: labelled rows, a text a line, documents as JSON lines."""

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path

from headstart.files import write_bytes

EXAMPLE_COLUMNS = ("text", "label", "group")


def write_examples(path: Path, rows: Iterable[tuple[str, str, str]]) -> None:
    """Writes a CSV of texts with their labels and what they must not be split from."""
    table = io.StringIO(newline="")
    # All in quotes: left to itself, the writer overlooks a lone carriage return.
    writer = csv.writer(table, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(EXAMPLE_COLUMNS)
    writer.writerows(rows)
    write_bytes(path, table.getvalue().encode())


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Writes texts that have no line ends of their own, one a line."""
    write_bytes(path, "".join(f"{line}\n" for line in lines).encode())


def write_documents(path: Path, documents: Iterable[str]) -> None:
    """Writes documents as JSON lines, where their own line ends survive."""
    lines = (json.dumps({"text": document}, ensure_ascii=False) for document in documents)
    write_lines(path, lines)
