"""A table as data: any surface, a terminal, a pipe or a page, can show it in its own way."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Table:
    """A title, columns, rows of text, and notes below; numbers stand in the right-hand columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()
    """The columns to align on the right."""
    notes: tuple[str, ...] = ()
