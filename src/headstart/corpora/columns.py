"""Which column of a table holds what: named by the user, or found by its name."""

from collections.abc import Collection, Sequence
from pathlib import Path

from headstart.errors import DataError

TEXT_NAMES = ("text", "review", "sentence", "content", "document", "body", "comment", "message")
LABEL_NAMES = ("label", "labels", "class", "category", "target", "sentiment", "rating")
SOURCE_NAMES = ("source", "src", "input")
TARGET_NAMES = ("target", "tgt", "output", "translation")

# The options by which a command is told a column; the sides of pairs have none.
OPTIONS = {"text": "--text-column", "label": "--label-column", "group": "--group"}


def find_column(
    columns: Collection[str], wanted: str | None, names: Sequence[str], path: Path, role: str
) -> str:
    """Returns the column for a role: the one named, the one of a usual name, or the only one."""
    if wanted is not None:
        if wanted in columns:
            return wanted
        raise missing(columns, path, f"no column {wanted!r}", remedy(role, names))
    lowered = {column.lower(): column for column in columns}
    for name in names:
        if name in lowered:
            return lowered[name]
    if len(columns) == 1 and role == "text":
        return next(iter(columns))
    raise missing(columns, path, f"no column that looks like the {role}", remedy(role, names))


def remedy(role: str, names: Sequence[str]) -> str:
    """Says how the column of a role can be named: by its option, or else in the table."""
    if role in OPTIONS:
        return f"Name one with {OPTIONS[role]}"
    return f"Call the column of the {role} one of: {', '.join(names)}"


def missing(columns: Collection[str], path: Path, what: str, advice: str) -> DataError:
    """Returns the error for a column that is not there."""
    has = f"It has: {', '.join(columns)}" if columns else "Its first row has none at all"
    return DataError(f"{path} has {what}. {has}. {advice}.")
