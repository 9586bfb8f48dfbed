"""Parallel text: a source and a target for each pair, from two files or one table."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from headstart.corpora.columns import SOURCE_NAMES, TARGET_NAMES, find_column
from headstart.corpora.documents import Reading
from headstart.corpora.hub import is_hub
from headstart.corpora.lines import read_all_lines
from headstart.corpora.places import Place
from headstart.corpora.presence import require_present
from headstart.corpora.rows import ROW_READERS, cell_text
from headstart.corpora.tables import has_rows, table_rows
from headstart.errors import DataError


@dataclass(frozen=True, slots=True)
class Pair:
    """A source text and its translation."""

    source: str
    target: str
    place: Place


def read_pairs(source: Path, target: Path, reading: Reading) -> Iterator[Pair]:
    """Yields the pairs of two files, line by line; a bad line takes its other side along."""
    for path in (source, target):
        require_present(path, "Name a file with a text on each line")
    num_lines = 0
    for number, (left, right) in aligned_lines(source, target, reading):
        num_lines += 1
        if left is None or right is None:
            continue  # already complained of
        places = (Place(source, number), Place(target, number))
        yield from whole_pair(left, right, places, reading)
    if num_lines == 0:
        raise DataError(f"{source} and {target} hold no pairs. Name files that hold some.")


def aligned_lines(
    first: Path, second: Path, reading: Reading
) -> Iterator[tuple[int, tuple[str | None, str | None]]]:
    """Yields the lines of two files that must have as many; one that could not be read is None."""
    sides = (read_all_lines(path, reading.meter, reading.complaints) for path in (first, second))
    for left, right in zip_longest(*sides):
        if left is None or right is None:
            longer, shorter = (first, second) if right is None else (second, first)
            number = (left or right)[0]
            raise DataError(
                f"{longer} has more lines than {shorter}, from line {number:,} on. "
                "Each line needs its other side."
            )
        texts = tuple(None if side[1] is None else side[1].rstrip("\r\n") for side in (left, right))
        yield left[0], (texts[0], texts[1])


def read_pair_table(path: Path, reading: Reading) -> Iterator[Pair]:
    """Yields the pairs of a table with a column for each side."""
    if not has_rows(path):
        raise DataError(
            f"{path} is no table of pairs: its name does not end in {', '.join(ROW_READERS)}. Name "
            "one that has a column for each side, or two files of lines with --source and --target."
        )
    if not is_hub(path):
        require_present(path, "Name a table that has a column for each side")
    columns: tuple[str, str] | None = None
    num_rows = 0
    for row in table_rows(path, reading.meter, reading.complaints):
        num_rows += 1
        if columns is None:
            names = row.cells.keys()
            columns = (
                find_column(names, None, SOURCE_NAMES, path, "source"),
                find_column(names, None, TARGET_NAMES, path, "target"),
            )
        source, target = (cell_text(row, column, reading.complaints) for column in columns)
        if source is not None and target is not None:
            yield from whole_pair(source, target, (row.place, row.place), reading)
    if num_rows == 0:
        raise DataError(f"{path} holds no pairs. Name a table that holds some.")


def whole_pair(
    source: str, target: str, places: tuple[Place, Place], reading: Reading
) -> Iterator[Pair]:
    """Yields a pair of which neither side is empty."""
    for side, text, place in zip(("source", "target"), (source, target), places, strict=True):
        if not text.strip():
            remedy = "Fill it in or remove the pair"
            what, skips = f"the {side} is empty", reading.skips_empty
            reading.complaints.complain(place, what, remedy, skips=skips)
            return
    yield Pair(source, target, places[0])
