"""The command `fill`: what a masked run would put into the blanks of a text."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headstart.apps.cli.options import json_option
from headstart.apps.cli.output import print_json, print_tables
from headstart.apps.cli.using import Place, given_text, open_run, place_options, run_argument
from headstart.apps.cli.values import Whole
from headstart.cut_text import WORD_START
from headstart.reports.table import Table

if TYPE_CHECKING:
    from headstart.pipeline.fill import Filled, Filling

EXAMPLES = """\b
Examples:
  headstart fill RUN "un livre <mask>"
  headstart fill RUN "un <mask> que je <mask> encore" --top 10
"""


@click.command(epilog=EXAMPLES)
@run_argument
@click.argument("text")
@click.option(
    "--top",
    type=Whole(min=1),
    default=5,
    show_default=True,
    help="How many pieces to show for each blank.",
)
@place_options
@json_option
def fill(run: Path, text: str, top: int, place: Place, as_json: bool) -> None:
    """Show what could stand in each <mask> of TEXT, with probabilities.

    A dash reads the text from standard input. Of several blanks, each is judged while the others
    are still blank.
    """
    text = given_text(text)
    from headstart.pipeline.fill import fill as find

    found = find(open_run(run, place.device, place.num_threads), text, top)
    if as_json:
        print_json({"text": text, **asdict(found)})
        return
    show(found)


def show(found: Filled) -> None:
    """Prints a table for each blank, then the text with the likeliest in them."""
    print_tables(
        blank_table(number, len(found.blanks), fillings)
        for number, fillings in enumerate(found.blanks, start=1)
    )
    click.echo(found.text)


def blank_table(number: int, num_blanks: int, fillings: list[Filling]) -> Table:
    """Returns what could stand in one blank as a table."""
    return Table(
        title="The blank" if num_blanks == 1 else f"Blank {number} of {num_blanks}",
        columns=("piece", "probability"),
        rows=tuple((shown(one), f"{100 * one.probability:.2f} %") for one in fillings),
        numeric=frozenset({"probability"}),
    )


def shown(filling: Filling) -> str:
    """Returns a piece as people read it; dots where it goes on with the word before it."""
    return filling.text if filling.piece.startswith(WORD_START) else f"…{filling.piece}"
