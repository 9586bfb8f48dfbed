"""Picking a row of a visible table by its name, with a sentence that helps when there is none."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar

from headstart.errors import RecipeError

Row = TypeVar("Row")


def choose(name: str, table: Mapping[str, Row], kind: str) -> Row:
    """Returns the row called `name`, or raises an error that lists the rows and the nearest one."""
    if name in table:
        return table[name]
    suggestion, names = nearest(name, table), ", ".join(table)
    raise RecipeError(f"There is no {kind} {name!r}.{suggestion} Choose one of: {names}.")


def nearest(name: str, table: Mapping[str, object]) -> str:
    """Returns a suggestion such as " Did you mean 'lab'?", or nothing when no name is near."""
    lowered = {row.lower(): row for row in table}
    matches = get_close_matches(name.lower(), lowered, n=1, cutoff=0.5)
    return f" Did you mean {lowered[matches[0]]!r}?" if matches else ""
