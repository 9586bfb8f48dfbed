"""What a command says when a run has come to its end, or was stopped on the way."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from headstart.apps.cli.output import print_json, print_tables
from headstart.pipeline.run_files import read_recipe, read_results
from headstart.reports.table import Table


def show_end(folder: Path, *, is_finished: bool, as_json: bool) -> None:
    """Says what came out, or how to go on."""
    results = read_results(folder) if is_finished else None
    if as_json:
        print_json({"run": str(folder), "is_finished": is_finished, "results": results})
    elif results is None:
        click.echo(f"Stopped; nothing is lost. Go on with: headstart resume {folder}", err=True)
    else:
        print_tables(tables_of(folder, results))


def tables_of(folder: Path, results: dict[str, Any]) -> Iterable[Table]:
    """Returns what a finished run is worth: a language model, a classifier or a translator."""
    recipe = read_recipe(folder)
    transferred = recipe.transfer
    if recipe.task == "translation":
        from headstart.reports.translator_tables import translator_table

        return [translator_table(folder, results)]
    if transferred is None:
        from headstart.reports.run_tables import results_table

        return [results_table(folder, results)]
    from headstart.reports.label_tables import transfer_tables

    return transfer_tables(folder, results, transferred.labels)
