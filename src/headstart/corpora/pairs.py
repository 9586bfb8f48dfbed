"""Parallel text: a source and a target for each pair, from two files or one table."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headstart.corpora.columns import SOURCE_NAMES, TARGET_NAMES, find_column
from headstart.corpora.documents import Reading
from headstart.corpora.lines import read_lines
from headstart.corpora.places import Place
from headstart.corpora.rows import cell_text, read_rows
from headstart.errors import DataError


@dataclass(frozen=True, slots=True)
class Pair:
    """A source text and its translation."""

    source: str
    target: str
    place: Place


def read_pairs(source: Path, target: Path, reading: Reading) -> Iterator[Pair]:
    """Yields the pairs of two files, line by line; a bad line takes its other side along."""
    sources = read_lines(source, reading.meter, reading.complaints)
    targets = read_lines(target, reading.meter, reading.complaints)
    left, right = next(sources, None), next(targets, None)
    while left is not None and right is not None:
        # Lines that could not be read are missing; the one behind waits for its own number.
        if left[0] == right[0]:
            yield from whole_pair(left[1], right[1], Place(source, left[0]), reading)
            left, right = next(sources, None), next(targets, None)
        elif left[0] < right[0]:
            left = next(sources, None)
        else:
            right = next(targets, None)
    if left is not None or right is not None:
        longer, shorter = (source, target) if left is not None else (target, source)
        raise DataError(
            f"{longer} has more lines than {shorter}, from line {(left or right or (0,))[0]:,} on. "
            "Each source needs its target."
        )


def read_pair_table(path: Path, reading: Reading) -> Iterator[Pair]:
    """Yields the pairs of a table with a column for each side."""
    columns: tuple[str, str] | None = None
    for row in read_rows(path, reading.meter, reading.complaints):
        if columns is None:
            names = row.cells.keys()
            columns = (
                find_column(names, None, SOURCE_NAMES, path, "source"),
                find_column(names, None, TARGET_NAMES, path, "target"),
            )
        source, target = (cell_text(row, column, reading.complaints) for column in columns)
        if source is not None and target is not None:
            yield from whole_pair(source, target, row.place, reading)


def whole_pair(source: str, target: str, place: Place, reading: Reading) -> Iterator[Pair]:
    """Yields a pair of which neither side is empty."""
    for side, text in (("source", source), ("target", target)):
        if not text.strip():
            remedy = "Fill it in or remove the pair"
            reading.complaints.complain(place, f"the {side} is empty", remedy)
            return
    yield Pair(source, target, place)
