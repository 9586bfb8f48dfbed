"""The command `anatomy`: the ledger of a recipe or run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from headstart.apps.cli.options import (
    Workplace,
    folder_type,
    json_option,
    packed,
    workplace_options,
)
from headstart.apps.cli.output import print_json, print_tables
from headstart.apps.cli.progress import shown_progress
from headstart.apps.cli.values import COUNT_TYPE, POSITIVE_TYPE, Whole
from headstart.apps.recipes.finding import find_recipe
from headstart.models.config import MOST
from headstart.pipeline.question import Question
from headstart.pipeline.recipe import Recipe, Task, with_vocabulary

if TYPE_CHECKING:
    from headstart.models.accounting.duration import Machine
    from headstart.models.accounting.ledger import Anatomy

EXAMPLES = """\b
Examples:
  headstart anatomy lab
  headstart anatomy lab --labels 2 --frozen
  headstart anatomy compact --tokens 100M --verify
  headstart anatomy base --rate 2.1 --memory 4 --tokens 2.5e9
"""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What to look at beyond the formulas."""

    rate: float | None
    memory: float | None
    verify: bool
    measure: bool
    figures: Path | None


question_options = packed(
    "question",
    Question,
    click.option("--task", type=click.Choice(get_args(Task)), help="What the head is for."),
    click.option(
        "--labels",
        "num_labels",
        type=Whole(2, MOST),
        help="How many labels; implies --task classification.",
    ),
    click.option(
        "--frozen", "is_frozen", is_flag=True, help="Train the head only; implies classification."
    ),
    click.option("--length", type=int, help="Tokens in a sequence.  [default: the recipe's]"),
    click.option(
        "--kernel", type=int, default=3, show_default=True, help="Convolution to compare with."
    ),
    click.option("--tokens", "num_tokens", type=COUNT_TYPE, help="Predict the time for so many."),
)
evidence_options = packed(
    "evidence",
    Evidence,
    click.option("--rate", type=POSITIVE_TYPE, help="Predict for a machine of so many TFLOP/s."),
    click.option("--memory", type=POSITIVE_TYPE, help="Predict for a machine of so many GiB."),
    click.option("--verify", is_flag=True, help="Run a few real steps: predicted against seen."),
    click.option("--measure", is_flag=True, help="Time real layers of three kinds by length."),
    click.option(
        "--figures",
        type=folder_type(),
        help="Draw into this folder, as PNG and SVG.",
    ),
)


@click.command(epilog=EXAMPLES)
@click.argument("recipe_or_run")
@click.option(
    "--vocabulary", type=COUNT_TYPE, help="Size of the vocabulary.  [default: the recipe's]"
)
@question_options
@evidence_options
@workplace_options
@json_option
def anatomy(
    recipe_or_run: str,
    vocabulary: int | None,
    question: Question,
    evidence: Evidence,
    workplace: Workplace,
    as_json: bool,
) -> None:
    """Show what a model consists of and what it costs.

    RECIPE_OR_RUN is lab, bert, compact, strong, base, small or pocket; the folder of a run; or a
    Python file of your own with a function recipe(). Parameters are derived twice and must agree.
    Minutes and memory are predicted for this machine, or for one described by --rate and --memory.
    """
    recipe = find_recipe(recipe_or_run)
    if vocabulary is not None:
        recipe = with_vocabulary(recipe, vocabulary)
    seen = examine(recipe, question, evidence, workplace)
    paths = draw(seen, evidence.figures)
    if as_json:
        from headstart.reports.ledger_json import anatomy_json

        print_json(anatomy_json(seen) | {"figures": [str(path) for path in paths]})
        return
    from headstart.reports.ledger_tables import anatomy_tables

    print_tables(anatomy_tables(seen))
    for path in paths:
        click.echo(f"Wrote {path}")
    if paths and not evidence.measure:
        click.echo("Not drawn: measured complexity, which needs --measure.")


def examine(
    recipe: Recipe, question: Question, evidence: Evidence, workplace: Workplace
) -> Anatomy:
    """Makes the ledger and looks at whatever else was asked for."""
    import torch

    from headstart.models.accounting.layer_timing import NUM_TIMINGS
    from headstart.models.accounting.ledger import Anatomy
    from headstart.pipeline.anatomy import anatomy as make_ledger
    from headstart.pipeline.anatomy import measure, verify
    from headstart.pipeline.this_machine import choose_device, remember
    from headstart.training.rehearsal import NUM_REHEARSALS

    device = choose_device(workplace.device)
    if workplace.num_threads is not None:
        torch.set_num_threads(workplace.num_threads)
    ledger = make_ledger(recipe, question, find_machine(evidence, device))
    rehearsed = timings = None
    if evidence.verify:
        with shown_progress("Real steps", NUM_REHEARSALS) as on_step:
            rehearsed = verify(ledger, device, workplace.seed, on_step)
        remember(rehearsed.machine, device)
    if evidence.measure:
        with shown_progress("Timing layers", NUM_TIMINGS) as on_point:
            timings = measure(ledger, device, on_point)
    return Anatomy(ledger=ledger, rehearsed=rehearsed, timings=timings)


def find_machine(evidence: Evidence, device: str) -> Machine:
    """Returns the machine that predictions are for: the one described, else the one at hand."""
    from headstart.pipeline.this_machine import described_machine, this_machine, with_memory

    if evidence.rate is not None:
        return described_machine(evidence.rate, evidence.memory)
    machine = this_machine(device)
    return machine if evidence.memory is None else with_memory(machine, evidence.memory)


def draw(seen: Anatomy, folder: Path | None) -> list[Path]:
    """Draws the figures where a folder for them was named."""
    if folder is None:
        return []
    from headstart.pipeline.anatomy_figures import write_figures

    return write_figures(seen, folder)
