"""Labelled text, in memory: few enough for that, since people wrote the labels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headstart.corpora.columns import LABEL_NAMES, TEXT_NAMES, find_column
from headstart.corpora.cut_text import is_cut
from headstart.corpora.documents import Reading
from headstart.corpora.hub import is_hub
from headstart.corpora.pairs import aligned_lines
from headstart.corpora.places import Complaints, Place
from headstart.corpora.presence import require_regular, require_text
from headstart.corpora.rows import Row, cell_text
from headstart.corpora.tables import has_rows, table_rows
from headstart.cut_text import joined_pieces
from headstart.errors import DataError

LABEL_SUFFIXES = (".label", ".labels")
PAIR_SEPARATOR = ","


@dataclass(frozen=True, slots=True)
class Example:
    """A text with its label, where it was read, and what it must not be split from."""

    text: str
    label: str
    place: Place
    group: str | None = None
    """Examples of one group, such as reviews of one film, stay on one side of a split."""


@dataclass(frozen=True, kw_only=True)
class ExampleColumns:
    """The columns of a table of examples; those left out are found by their names."""

    text: str | None = None
    label: str | None = None
    group: str | None = None


def read_examples(name: str, reading: Reading, columns: ExampleColumns) -> list[Example]:
    """Reads a table, or a text file with its labels in a file beside it or after a comma."""
    text_path, label_path = text_and_label_files(name)
    if label_path is None:
        examples = list(table_examples(text_path, reading, columns))
    else:
        examples = list(paired_examples(text_path, label_path, reading))
    if not examples:
        raise DataError(f"{text_path} holds no examples. Name a file with texts and labels.")
    return examples


def text_and_label_files(name: str) -> tuple[Path, Path | None]:
    """Returns the file of texts and that of labels, None for a table that holds both."""
    if is_hub(name):
        return Path(name), None
    if PAIR_SEPARATOR in name and not Path(name).exists():
        text_name, _, label_name = name.partition(PAIR_SEPARATOR)
        return existing(text_name), existing(label_name)
    path = existing(name)
    require_text(path)
    if has_rows(path):
        return path, None
    stem = path.name.split(".")[0]
    beside = [path.with_name(stem + suffix) for suffix in LABEL_SUFFIXES]
    found = [other for other in beside if other.is_file()]
    if not found:
        raise DataError(
            f"{path} has texts but no labels. Put them beside it as {beside[0]}, one a line, "
            f"or name them after a comma: {name},LABELS."
        )
    return path, found[0]


def existing(name: str) -> Path:
    """Returns a path that must be a file."""
    path = Path(name)
    if name and path.is_dir():
        raise DataError(f"{path} is a folder. Name a file in it that holds examples.")
    require_regular(path)
    if not path.is_file():
        raise DataError(f"There is no file {name!r}. Check the name.")
    return path


def table_examples(path: Path, reading: Reading, columns: ExampleColumns) -> Iterator[Example]:
    """Yields the examples of a table."""
    wanted: list[str] | None = None
    for row in table_rows(path, reading.meter, reading.complaints):
        names = row.cells.keys()
        if wanted is None:
            wanted = [
                find_column(names, columns.text, TEXT_NAMES, path, "text"),
                find_column(names, columns.label, LABEL_NAMES, path, "label"),
            ]
            require_two_columns(wanted[0], wanted[1], path)
            if columns.group is not None:
                wanted.append(find_column(names, columns.group, (), path, "group"))
        cells = cells_or_complaint(row, wanted, reading.complaints)
        if cells is None:
            continue
        text, label, *group = cells
        if not label.strip():
            reading.complaints.complain(row.place, "the label is missing", "Give it one")
            continue
        yield Example(text, label.strip(), row.place, *group)


def require_two_columns(text: str, label: str, path: Path) -> None:
    """Raises an error where one column would be both text and label."""
    if text == label:
        raise DataError(
            f"{path}: the column {text!r} cannot be both the text and the label. Name another with "
            "--text-column or --label-column."
        )


def cells_or_complaint(
    row: Row, columns: Sequence[str], complaints: Complaints
) -> list[str] | None:
    """Returns the cells of columns, or nothing after a complaint about the first bad one."""
    cells: list[str] = []
    for column in columns:
        cell = cell_text(row, column, complaints)
        if cell is None:
            return None
        cells.append(cell)
    return cells


def paired_examples(text_path: Path, label_path: Path, reading: Reading) -> Iterator[Example]:
    """Yields the examples of two files, a text and a label a line."""
    for number, (line, label) in aligned_lines(text_path, label_path, reading):
        if line is None or label is None:
            continue  # already complained of
        if not label.strip():
            place = Place(label_path, number)
            reading.complaints.complain(place, "the label is missing", "Give it one")
            continue
        text = joined_pieces(line) if is_cut(text_path) else line
        yield Example(text, label.strip(), Place(text_path, number))
