"""The command `transfer`: trunk and labels to classifier, in a run that cannot be lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from headstart.apps.cli.example_files import ExampleFiles, example_options
from headstart.apps.cli.interruption import interruptible
from headstart.apps.cli.lessons import Lessons, lesson_options
from headstart.apps.cli.options import Workplace, json_option, packed, workplace_options
from headstart.apps.cli.output import print_tables
from headstart.apps.cli.pretrain import DEFAULT_RECIPE, FOLDER, given
from headstart.apps.cli.run_end import show_end
from headstart.apps.cli.run_type import RUN_TYPE
from headstart.apps.cli.stopping import exit_if_stopped, stopping
from headstart.apps.cli.training_options import (
    accumulate_option,
    deterministic_option,
    save_option,
)
from headstart.apps.cli.training_progress import watched
from headstart.apps.cli.values import (
    AVERAGED_TYPE,
    COUNT_TYPE,
    RATE_TYPE,
    SHARE_TYPE,
    SIZE_TYPE,
    Whole,
)
from headstart.apps.recipes.finding import find_recipe
from headstart.errors import RecipeError
from headstart.locks import locked
from headstart.models.config import MOST
from headstart.models.heads.config import Pooling
from headstart.pipeline.run_files import read_start_recipe
from headstart.transfers.config import BestBy, LongTexts, Mode
from headstart.transfers.settings import TransferSettings, default_settings, with_teachers

if TYPE_CHECKING:
    from headstart.pipeline.recipe import Recipe
    from headstart.pipeline.transfer import Transferring

EXAMPLES = """\b
Examples:
  headstart transfer --from film-en --train train.csv --test test.csv --out runs/mine
  headstart transfer --from runs/fr --train train.csv --mode frozen --out runs/frozen
  headstart transfer --train train.csv --recipe compact --out runs/cold
  headstart transfer --from film-en --train train.csv --unlabelled reviews.txt \\
    --teacher runs/mine --teacher tfidf --out runs/taught
"""
MODES_OWN = "[default: the mode's]"


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What is kept of an earlier run, and what a cold start is made of."""

    start: Path | None
    mode: Mode
    recipe: str | None
    objective: str | None
    tokenizer: Path | None


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How long and how fast labels are learned."""

    epochs: int | None
    fewest_steps: int | None
    examples_per_step: int | None
    rate: float | None
    warm_up: float | None
    layer_decay: float | None
    dropout: float | None
    accumulation: int | None
    average_decay: float | None


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What is read, what weighs how much, and what counts as best."""

    length: int | None
    long_texts: LongTexts | None
    pooling: Pooling | None
    fits_head: bool | None
    num_fresh_layers: int | None
    weigh_labels: bool
    patience: int | None
    best_by: BestBy | None
    num_averaged: int | None

    @property
    def wants_fit(self) -> bool | None:
        """Whether the head is fitted first; None where nothing was said that bears on it."""
        if self.fits_head is None and self.num_fresh_layers:
            # Fresh layers know nothing yet that a head could be fitted to.
            return False
        return self.fits_head


kept_options = packed(
    "kept",
    Kept,
    click.option(
        "--from", "start", type=RUN_TYPE, help="A run or a trunk in the box.  [default: cold]"
    ),
    click.option(
        "--mode",
        type=click.Choice(get_args(Mode)),
        default="full",
        show_default=True,
        help="What learns: all, the head alone, or more and more from the top.",
    ),
    click.option("--recipe", help=f"A cold start's recipe.  [default: {DEFAULT_RECIPE}]"),
    click.option("--objective", help="A cold start's objective.  [default: the recipe's]"),
    click.option(
        "--tokenizer",
        type=FOLDER,
        help="A cold start's tokenizer.  [default: learned from the training texts]",
    ),
)
pace_options = packed(
    "pace",
    Pace,
    click.option("--epochs", type=SIZE_TYPE, help=f"Times all is read.  {MODES_OWN}"),
    click.option(
        "--fewest-steps",
        type=Whole(0, MOST),
        help=f"More epochs where they would come to fewer steps.  {MODES_OWN}",
    ),
    click.option(
        "--examples", "examples_per_step", type=SIZE_TYPE, help=f"Examples in a step.  {MODES_OWN}"
    ),
    click.option("--rate", type=RATE_TYPE, help=f"The highest learning rate.  {MODES_OWN}"),
    click.option(
        "--warm-up",
        type=SHARE_TYPE,
        help=f"Share of the steps in which the rate rises.  {MODES_OWN}",
    ),
    click.option(
        "--layer-decay",
        type=RATE_TYPE,
        help=f"A layer's rate by that of the one above.  {MODES_OWN}",
    ),
    click.option("--dropout", type=SHARE_TYPE, help=f"Share of values to drop.  {MODES_OWN}"),
    accumulate_option,
    click.option(
        "--average",
        "average_decay",
        type=SHARE_TYPE,
        help="Average the last weights, with this decay, such as 0.99.  [default: no average]",
    ),
)
choice_options = packed(
    "choices",
    Choices,
    click.option("--length", type=COUNT_TYPE, help="Pieces read at once.  [default: the trunk's]"),
    click.option(
        "--long-texts",
        type=click.Choice(get_args(LongTexts)),
        help="Cut what is longer, or read it in windows.  [default: cut]",
    ),
    click.option(
        "--pooling",
        type=click.Choice(get_args(Pooling)),
        help="The vector of a text.  [default: what suits the trunk's objective]",
    ),
    click.option(
        "--fit-head/--draw-head",
        "fits_head",
        default=None,
        help="Fit the head to the trunk first, or draw it.  [default: fit to what was pretrained "
        "and learns]",
    ),
    click.option(
        "--fresh-layers",
        "num_fresh_layers",
        type=Whole(0, MOST),
        help="Layers at the top to begin anew.  [default: 0]",
    ),
    click.option("--weigh-labels", is_flag=True, help="Let rare labels weigh as much in all."),
    click.option(
        "--patience",
        type=Whole(0, MOST),
        help=f"End after so many epochs without a better one; 0: never.  {MODES_OWN}",
    ),
    click.option(
        "--best-by",
        type=click.Choice(get_args(BestBy)),
        help="What the best epoch has most of.  [default: accuracy]",
    ),
    click.option(
        "--average-best",
        "num_averaged",
        type=AVERAGED_TYPE,
        help=f"Average the weights of so many best epochs.  {MODES_OWN}",
    ),
)


@click.command(epilog=EXAMPLES)
@kept_options
@example_options
@click.option("--out", type=FOLDER, required=True, help="The run's folder.")
@pace_options
@choice_options
@lesson_options
@save_option
@deterministic_option
@workplace_options
@json_option
def transfer(
    kept: Kept,
    examples: ExampleFiles,
    out: Path,
    pace: Pace,
    choices: Choices,
    lessons: Lessons,
    save_every: int | None,
    deterministic: bool,
    workplace: Workplace,
    as_json: bool,
) -> None:
    """Make a classifier: swap the head of a trunk, and learn what the labels say.

    A table has a text and a label column. Texts and labels may also stand in two files, one a
    line: named TEXT,LABELS, or side by side as NAME.txt and NAME.label. Without --from it is a cold
    start. The run can be stopped or killed at any time; `headstart resume` goes on with it.
    """
    recipe = chosen_recipe(kept)
    settings = chosen_settings(kept, pace, choices, lessons)
    # Before torch is imported: whoever comes second is turned away at once.
    with locked(out), stopping() as asked, watched(asked) as watch:
        from headstart.pipeline.resumption import Resumption
        from headstart.pipeline.transfer import begin_transfer, read_swap, resume_transfer

        wanted = to_transferring(kept, recipe, settings, examples, workplace, deterministic)
        teaching = lessons.to_teaching(workplace.seed, examples.text_column)
        wanted = replace(wanted, teaching=teaching)
        interruptible(lambda: begin_transfer(wanted, out, watch))
        if not as_json and (swap := read_swap(out)) is not None:
            from headstart.reports.swap_table import swap_table

            print_tables([swap_table(swap)])
        is_finished = resume_transfer(out, Resumption(save_every=save_every), watch)
    show_end(out, is_finished=is_finished, as_json=as_json)
    exit_if_stopped(asked)


def chosen_recipe(kept: Kept) -> Recipe:
    """Returns the recipe of the run that is kept, or the one that was named."""
    if kept.start is None:
        return find_recipe(kept.recipe or DEFAULT_RECIPE, kept.objective)
    own = {
        "--recipe": kept.recipe,
        "--objective": kept.objective,
        "--tokenizer": kept.tokenizer,
    }
    for name, value in own.items():
        if value is not None:
            raise RecipeError(
                f"{name} is {value}, but --from keeps what {kept.start} has. Leave one out."
            )
    return replace(read_start_recipe(kept.start), plan=None)


def chosen_settings(kept: Kept, pace: Pace, choices: Choices, lessons: Lessons) -> TransferSettings:
    """Returns the settings of the mode with what was given put in their place."""
    if kept.mode == "frozen" and pace.layer_decay is not None:
        raise click.UsageError(
            "'--layer-decay' would change nothing with '--mode frozen', where no layer learns. "
            "Leave it out, or choose another mode."
        )
    base = default_settings(kept.mode, is_warm=kept.start is not None)
    if lessons.is_given:
        base = with_teachers(base)
    return replace(
        base,
        transfer=replace(
            base.transfer,
            **given(
                layer_decay=pace.layer_decay,
                fits_head=choices.wants_fit,
                num_fresh_layers=choices.num_fresh_layers,
                weighs_labels=choices.weigh_labels or None,
                long_texts=choices.long_texts,
                patience=choices.patience,
                best_by=choices.best_by,
                num_averaged=choices.num_averaged,
                labelled_weight=lessons.labelled_weight,
            ),
        ),
        learning=replace(
            base.learning,
            **given(
                peak_rate=pace.rate,
                warm_up_share=pace.warm_up,
                accumulation=pace.accumulation,
                average_decay=pace.average_decay,
            ),
        ),
        **given(
            epochs=pace.epochs,
            fewest_steps=pace.fewest_steps,
            examples_per_step=pace.examples_per_step,
            length=choices.length,
            dropout=pace.dropout,
            pooling=choices.pooling,
        ),
    )


def to_transferring(
    kept: Kept,
    recipe: Recipe,
    settings: TransferSettings,
    examples: ExampleFiles,
    workplace: Workplace,
    deterministic: bool,
) -> Transferring:
    """Returns what the options mean."""
    from headstart.pipeline.transfer import Transferring

    return Transferring(
        recipe=recipe,
        examples=examples.to_config(draw=workplace.seed),
        settings=settings,
        place=workplace.to_place(is_deterministic=deterministic),
        start=kept.start,
        tokenizer=kept.tokenizer,
    )
