"""What a comparison says when it ends: its tables and verdict, or how to go on."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from headstart.apps.cli.output import print_json, print_tables
from headstart.reports.table import Table

Results = dict[str, Any]
# The tables and the lines of the verdict; what draws them is imported when it is asked for.
Described = Callable[[Results], tuple[Iterable[Table], Iterable[str]]]


def show_comparison(
    folder: Path, results: Results | None, described: Described, *, as_json: bool
) -> None:
    """Says what came out, or how to go on."""
    if as_json:
        found = {"comparison": str(folder), "is_finished": results is not None, "results": results}
        print_json(found)
    elif results is None:
        click.echo("Stopped; nothing is lost. Go on with the same command.", err=True)
    else:
        from headstart.pipeline.comparing.report import REPORT_NAME

        tables, lines = described(results)
        print_tables(tables)
        for line in lines:
            click.echo(line)
        click.echo(f"Report: {folder / REPORT_NAME}")
