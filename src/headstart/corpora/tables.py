"""Whatever has rows and columns: a file by its suffix, or a data set of the hub."""

from collections.abc import Iterator
from pathlib import Path

from headstart.corpora.compression import Meter
from headstart.corpora.hub import hub_sha256, is_hub, read_hub
from headstart.corpora.places import Complaints
from headstart.corpora.rows import Row, is_table, read_rows
from headstart.files import sha256_of


def has_rows(path: Path) -> bool:
    """Whether a name stands for a table."""
    return is_hub(path) or is_table(path)


def table_rows(path: Path, meter: Meter, complaints: Complaints) -> Iterator[Row]:
    """Yields the rows of a table, wherever it is."""
    return read_hub(path, meter) if is_hub(path) else read_rows(path, meter, complaints)


def source_sha256(path: Path) -> str:
    """Returns a SHA-256 that changes with what a source holds: of its bytes, or of its rows."""
    return hub_sha256(path) if is_hub(path) else sha256_of(path)
