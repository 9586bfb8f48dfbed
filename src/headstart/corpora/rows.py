"""Tables of any kind to rows: CSV, TSV, JSON lines and Parquet, each row with its place."""

import contextlib
import csv
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, cast

from headstart.corpora.compression import Meter, kind_of, open_bytes, without_compression
from headstart.corpora.lines import NUM_LONGEST_BYTES, is_whole, read_all_lines, read_lines
from headstart.corpora.places import Complaints, Place
from headstart.errors import DataError


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row by the names of their columns."""

    place: Place
    cells: Mapping[str, object]


class Tabbed(csv.Dialect):
    """Cells between tabs, as they stand: quotation marks are text, and no cell spans lines."""

    delimiter = "\t"
    quoting = csv.QUOTE_NONE
    lineterminator = "\n"


class Quoted(csv.excel):
    """Cells between commas, quoted where they hold commas or line ends; errors are errors."""

    strict = True


class Semicolons(Quoted):
    """As spreadsheets write tables where the comma stands in numbers."""

    delimiter = ";"


class QuotedTabs(Quoted):
    """Tabs in a file that is called `.csv`."""

    delimiter = "\t"


class Bars(Quoted):
    """Cells between upright bars."""

    delimiter = "|"


# Of those that a header has equally often, the first is meant.
QUOTED_DIALECTS: tuple[type[csv.Dialect], ...] = (Quoted, Semicolons, QuotedTabs, Bars)
QUOTED_PART = re.compile(r'"[^"]*"?')
NumberedLine = tuple[int, str | None]


def read_separated(
    path: Path, meter: Meter, complaints: Complaints, dialects: Sequence[type[csv.Dialect]]
) -> Iterator[Row]:
    """Yields the rows of a table with a header; a row of another width is complained about."""
    csv.field_size_limit(NUM_LONGEST_BYTES)
    beginning, rest = through_header(read_all_lines(path, meter, complaints))
    dialect = likely_dialect(beginning, dialects)
    lines = NumberedLines(chain(beginning, rest))
    header: list[str] | None = None
    for place, cells in raw_rows(lines, path, dialect, complaints):
        if header is None:
            if cells is None:
                raise DataError(f"{place}: the names of the columns cannot be read. {MEND} first.")
            header = checked_header(cells, path)
        elif cells is None:
            continue
        elif len(cells) != len(header):
            what = f"the row has {len(cells)} cells where the header has {len(header)}"
            complaints.complain(place, what, MEND)
        else:
            yield Row(place, dict(zip(header, cells, strict=True)))
    if header is None:
        raise DataError(f"{path} is empty. A table begins with a line that names its columns.")


def through_header(
    lines: Iterator[NumberedLine],
) -> tuple[list[NumberedLine], Iterator[NumberedLine]]:
    """Returns the lines up to the first that is not blank, and those behind it."""
    beginning: list[NumberedLine] = []
    for number, line in lines:
        beginning.append((number, line))
        if line is None or line.strip():
            break
    return beginning, lines


def likely_dialect(
    beginning: Sequence[NumberedLine], dialects: Sequence[type[csv.Dialect]]
) -> type[csv.Dialect]:
    """Returns the dialect whose delimiter the header has most of, outside quotation marks."""
    header = QUOTED_PART.sub("", (beginning[-1][1] or "") if beginning else "")
    return max(dialects, key=lambda dialect: header.count(dialect.delimiter))


def raw_rows(
    lines: "NumberedLines", path: Path, dialect: type[csv.Dialect], complaints: Complaints
) -> Iterator[tuple[Place, list[str] | None]]:
    """Yields the cells of each row with its place; None for one that cannot be read."""
    reader = csv.reader(lines, dialect)
    while True:
        place = Place(path, lines.number + 1)
        lines.has_gap = False
        try:
            cells = next(reader, None)
        except csv.Error as error:
            last = f" up to line {lines.number:,}" if lines.number > place.line else ""
            complaints.complain(place, f"the row{last} cannot be read ({error})", MEND)
            yield place, None
            continue
        if cells is None:
            return
        if lines.has_gap:
            yield place, None
        elif cells:  # a blank line is no row
            yield place, cells


class NumberedLines:
    """Lines as the csv module wants them, the number of the last one given, and gaps noted."""

    def __init__(self, lines: Iterator[NumberedLine]) -> None:
        self._lines = lines
        self.number = 0
        self.has_gap = False
        """Whether a line of the present row could not be read."""

    def __iter__(self) -> "NumberedLines":
        return self

    def __next__(self) -> str:
        self.number, line = next(self._lines)
        if line is None:
            self.has_gap = True
            return "\n"
        return line


def checked_header(cells: list[str], path: Path) -> list[str]:
    """Returns the names of the columns, each of which must be there once."""
    names = [cell.strip() for cell in cells]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{path} names the column {twice!r} twice. Rename one of them.")
    return names


def read_json_lines(path: Path, meter: Meter, complaints: Complaints) -> Iterator[Row]:
    """Yields the objects of a file with one JSON object a line."""
    for number, line in read_lines(path, meter, complaints):
        if not line.strip():
            continue
        place = Place(path, number)
        try:
            cells = json.loads(line)
        except (ValueError, RecursionError) as error:
            complaints.complain(place, f"the line is not JSON ({error})", MEND)
            continue
        if isinstance(cells, dict):
            yield Row(place, cells)
        else:
            complaints.complain(place, "the line is no JSON object", MEND)


def read_parquet(path: Path, meter: Meter, complaints: Complaints) -> Iterator[Row]:
    """Yields the rows of a Parquet file, a batch at a time."""
    del complaints  # Parquet is typed: what could be wrong with a row is wrong with the file
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise DataError(
            f"{path} is a Parquet file, which needs pyarrow. Run: pip install 'headstart[parquet]'."
        ) from error
    number = 0
    try:
        with seekable(path, meter) as stream:
            table = parquet.ParquetFile(stream)
            for batch in table.iter_batches(batch_size=NUM_ROWS_PER_BATCH):
                for cells in batch.to_pylist():
                    number += 1
                    yield Row(Place(path, number), cells)
    except (OSError, ValueError, MemoryError, ArrowException) as error:
        raise DataError(f"Cannot read {path} as Parquet: {first_line(error)}.") from error


@contextlib.contextmanager
def seekable(path: Path, meter: Meter) -> Iterator[IO[bytes]]:
    """Opens a file that is read from its end, as Parquet is; compressed, it must be whole first."""
    if without_compression(path) == path:
        with path.open("rb") as stream:
            yield stream
        meter.num_bytes += path.stat().st_size
        return
    with open_bytes(path, meter) as stream, tempfile.TemporaryFile() as whole:
        shutil.copyfileobj(stream, whole)
        yield cast(IO[bytes], whole)


def first_line(error: BaseException) -> str:
    """Returns the first line of what an error says."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


MEND = "Mend it"
NUM_ROWS_PER_BATCH = 1_024

ROW_READERS: Mapping[str, Callable[[Path, Meter, Complaints], Iterator[Row]]] = {
    ".csv": lambda path, meter, complaints: read_separated(
        path, meter, complaints, QUOTED_DIALECTS
    ),
    ".tsv": lambda path, meter, complaints: read_separated(path, meter, complaints, [Tabbed]),
    ".jsonl": read_json_lines,
    ".parquet": read_parquet,
}


def is_table(path: Path) -> bool:
    """Whether a file's name says that it is a table."""
    return kind_of(path) in ROW_READERS


def read_rows(path: Path, meter: Meter, complaints: Complaints) -> Iterator[Row]:
    """Yields the rows of a table of any kind."""
    return ROW_READERS[kind_of(path)](path, meter, complaints)


def cell_text(row: Row, column: str, complaints: Complaints) -> str | None:
    """Returns a cell as text, or nothing after a complaint about it."""
    value = row.cells.get(column)
    if isinstance(value, bool | int | float) and value == value:  # labels are often numbers
        value = str(value)
    if not isinstance(value, str):
        complaints.complain(row.place, f"the column {column!r} holds no text", MEND)
        return None
    if "\0" in value:
        complaints.complain(row.place, "there is a NUL, which no text has", "Remove it")
        return None
    if not is_whole(value):
        complaints.complain(row.place, "there is half a surrogate pair, which is no letter", MEND)
        return None
    return value
