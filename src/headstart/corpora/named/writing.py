"""The layouts of prepared files: a text a line, documents as JSON lines."""

import json
from collections.abc import Iterable
from pathlib import Path

from headstart.files import write_bytes


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Writes texts that have no line ends of their own, one a line."""
    write_bytes(path, "".join(f"{line}\n" for line in lines).encode())


def write_documents(path: Path, documents: Iterable[str]) -> None:
    """Writes documents as JSON lines, where their own line ends survive."""
    lines = (json.dumps({"text": document}, ensure_ascii=False) for document in documents)
    write_lines(path, lines)
