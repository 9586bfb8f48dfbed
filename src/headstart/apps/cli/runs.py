"""The command `runs`: what runs there are, and removing one."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

import click

from headstart.apps.cli.options import folder_type, json_option
from headstart.apps.cli.output import print_json, print_tables
from headstart.apps.cli.run_type import RUN_TYPE
from headstart.apps.cli.values import COUNT_TYPE
from headstart.errors import DataError, RunError

FOLDER = folder_type()


@click.group(invoke_without_command=True)
@click.option("--in", "folder", type=FOLDER, default=".", show_default=True, help="Where to look.")
@json_option
@click.pass_context
def runs(context: click.Context, folder: Path, as_json: bool) -> None:
    """List runs with their state, progress, score and size; remove one, or pack one."""
    if context.invoked_subcommand is not None:
        return
    if not folder.is_dir():
        raise RunError(f"There is no folder {folder}. Name one to look in by --in.")
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
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
def remove(run: Path, is_sure: bool) -> None:
    """Remove a run that is not running."""
    from headstart.pipeline.runs import remove_run, require_removable

    require_removable(run)
    if not is_sure and not is_confirmed(run):
        click.echo("Nothing was removed.")
        return
    remove_run(run)
    click.echo(f"Removed {run}")


def is_confirmed(run: Path) -> bool:
    """Whether the person at the terminal wants a run removed; fails where there is none to ask."""
    if not has_terminal():
        raise click.UsageError(f"Nobody can be asked whether to remove {run}: give '--yes' too.")
    return click.confirm("Remove the run and everything it has learned?")


def has_terminal() -> bool:
    """Whether there is someone to ask."""
    return sys.stdin is not None and sys.stdin.isatty()


@runs.command(short_help="Make a finished run small enough to give away.")
@click.argument("run", type=RUN_TYPE)
@click.option("--out", type=FOLDER, required=True, help="The folder to make.")
@click.option("--name", help="What the card calls it.  [default: the folder's name]")
@click.option("--about", type=click.File(encoding="utf-8"), help="Words for the card, as Markdown.")
@click.option(
    "--bytes",
    "most_bytes",
    type=COUNT_TYPE,
    default="9M",
    show_default=True,
    help="The most that it may take.",
)
def pack(run: Path, out: Path, name: str | None, about: TextIO | None, most_bytes: int) -> None:
    """Make a finished run small enough to give away.

    Its weights in half precision, which must answer as before; its sketch in the room that is left;
    a card with the command that made it, its text's SHA-256 and its scores. The folder is a run.
    """
    from headstart.pipeline.pack import Packing
    from headstart.pipeline.pack import pack as make

    words = read_words(about) if about is not None else ""
    made = make(run, out, Packing(name=name or out.name, about=words, most_bytes=most_bytes))
    click.echo(f"Packed {run} into {out}: {len(made):,} files and their manifest")


def read_words(about: TextIO) -> str:
    """Returns the words of a file, or says in a sentence that it holds something else."""
    try:
        return about.read()
    except UnicodeDecodeError as error:
        raise DataError(f"{about.name} is not UTF-8 ({error}). Save it as UTF-8 text.") from error
