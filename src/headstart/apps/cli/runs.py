"""The command `runs`: what runs there are, and removing one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from headstart.apps.cli.options import json_option
from headstart.apps.cli.output import print_json, print_tables

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.group(invoke_without_command=True, short_help="List runs, or remove one.")
@click.option("--in", "folder", type=FOLDER, default=".", show_default=True, help="Where to look.")
@json_option
@click.pass_context
def runs(context: click.Context, folder: Path, as_json: bool) -> None:
    """List runs with their state, progress, score and size, or remove one."""
    if context.invoked_subcommand is not None:
        return
    from headstart.pipeline.runs import find_runs
    from headstart.reports.run_tables import runs_table

    found = [asdict(run) | {"folder": str(run.folder)} for run in find_runs(folder)]
    if as_json:
        print_json(found)
    elif found:
        print_tables([runs_table(found)])
    else:
        click.echo(f"There is no run in {folder}. Begin one: headstart pretrain CORPUS --out RUN")


@runs.command()
@click.argument("run", type=FOLDER)
@click.confirmation_option("--yes", prompt="Remove the run and everything it has learned?")
def remove(run: Path) -> None:
    """Remove a run that is not running."""
    from headstart.pipeline.runs import remove_run

    remove_run(run)
    click.echo(f"Removed {run}")
