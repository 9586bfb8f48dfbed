"""Whatever a record holds, as names and values that people read."""

from collections.abc import Iterator, Mapping, Sequence

from headstart.reports.numbers import show_bytes, show_count, show_duration, show_operations
from headstart.reports.shortening import shortened
from headstart.reports.table import Table

LENGTH_OF_WORDS = 200
LENGTH_OF_NAME = 60
# What a name tells of the unit of its number.
UNITS = (
    ("bytes", show_bytes),
    ("flops", show_operations),
    ("seconds", show_duration),
    ("parameters", show_count),
)


def pairs_of(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Yields every number and word inside a value, under the names that lead there."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from pairs_of(item, f"{name}, {key}" if name else str(key))
    else:
        yield shortened(name.replace("_", " "), LENGTH_OF_NAME), show_value(value, name)


def show_value(value: object, name: str = "") -> str:
    """Returns a JSON value as people write it."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, int | float):
        return show_number(value, name)
    if isinstance(value, Mapping):
        return shortened(", ".join(f"{key} {show_value(item)}" for key, item in value.items()))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return shortened(", ".join(show_value(item) for item in value)) or "none"
    return shortened(str(value), LENGTH_OF_WORDS)


def show_number(number: float, name: str) -> str:
    """Returns a number in the unit that its name tells of, if any."""
    for word, show in UNITS:
        if word in name.lower():
            return show(number)
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"


def side_by_side(title: str, records: Mapping[str, object]) -> Table:
    """Returns a table with a column a record, and a row for every name that any of them has."""
    columns = {
        shortened(name, LENGTH_OF_NAME): dict(pairs_of(record)) for name, record in records.items()
    }
    names = dict.fromkeys(name for column in columns.values() for name in column)
    rows = tuple((name, *(column.get(name, "") for column in columns.values())) for name in names)
    return Table(title=title, columns=("what", *columns), rows=rows)
