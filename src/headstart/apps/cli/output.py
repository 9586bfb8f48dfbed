"""Printing: rich tables in a terminal, plain text in a pipe, one JSON object for programs."""

import json
from collections.abc import Iterable
from typing import Literal

import click
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from headstart.reports.table import Table

COLUMN_GAP = "  "


def print_json(value: object) -> None:
    """Prints one JSON object."""
    # Escapes for what is not ASCII: a program reads them anywhere, whatever the pipe can carry.
    click.echo(json.dumps(value, indent=2, allow_nan=False))


def print_tables(tables: Iterable[Table]) -> None:
    """Prints tables in the way that suits where they go."""
    console = Console()
    for table in tables:
        if console.is_terminal:
            print_rich(table, console)
        else:
            click.echo(plain_text(table))


def print_rich(table: Table, console: Console) -> None:
    """Prints a table for a person at a terminal."""
    rich_table = RichTable(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for column in table.columns:
        is_numeric = column in table.numeric
        # Where a terminal is narrow a long word goes on in the next line, so that no name is cut.
        justify: Literal["left", "right"] = "right" if is_numeric else "left"
        rich_table.add_column(column, justify=justify, overflow="fold")
    for row in table.rows:
        rich_table.add_row(*(Text(cell) for cell in row))
    console.print(Text(table.title, style="bold cyan"))
    console.print(rich_table)
    for note in table.notes:
        console.print(Padding(Text(note, style="dim"), (0, 0, 0, 2)))
    console.print()


def plain_text(table: Table) -> str:
    """Returns a table as aligned text, without lines, colours or folding."""
    cells = [table.columns, *table.rows]
    widths = [max(len(row[index]) for row in cells) for index in range(len(table.columns))]
    is_numeric = [column in table.numeric for column in table.columns]
    lines = [
        COLUMN_GAP.join(
            cell.rjust(width) if numeric else cell.ljust(width)
            for cell, width, numeric in zip(row, widths, is_numeric, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join([table.title, *lines, *table.notes, ""])
