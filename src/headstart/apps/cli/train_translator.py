"""The command `train-translator`: pairs to translator, in a run that cannot be lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headstart.apps.cli.interruption import interruptible
from headstart.apps.cli.options import Workplace, json_option, packed, workplace_options
from headstart.apps.cli.output import print_tables
from headstart.apps.cli.pair_files import PairFiles, pair_options
from headstart.apps.cli.pretrain import FOLDER, given
from headstart.apps.cli.run_end import show_end
from headstart.apps.cli.run_type import RUN_TYPE
from headstart.apps.cli.stopping import exit_if_stopped, stopping
from headstart.apps.cli.training_options import (
    RECIPES_OWN,
    accumulate_option,
    average_option,
    compile_option,
    deterministic_option,
    minutes_option,
    rate_option,
    save_option,
    schedule_option,
    steps_option,
    tensorboard_option,
)
from headstart.apps.cli.training_progress import watched
from headstart.apps.cli.values import AVERAGED_TYPE, COUNT_TYPE, SHARE_TYPE
from headstart.apps.recipes.finding import find_recipe
from headstart.apps.recipes.pocket import pocket
from headstart.apps.recipes.small import small
from headstart.errors import RecipeError
from headstart.locks import locked
from headstart.models.config import EncoderDecoderConfig
from headstart.pipeline.run_files import read_start_recipe
from headstart.pipeline.translating.paired_recipe import paired
from headstart.training.config import ScheduleKind

if TYPE_CHECKING:
    from headstart.pipeline.planning import Place
    from headstart.pipeline.recipe import Recipe
    from headstart.pipeline.train_translator import Translating
    from headstart.pipeline.watch import Watch

EXAMPLES = """\b
Examples:
  headstart train-translator --source train.src --target train.tgt --minutes 5 --out runs/en-fr
  headstart train-translator --source train.en --target train.de --valid-source valid.en \\
    --valid-target valid.de --recipe base --steps 100k --out runs/base
  headstart train-translator --source mine.en --target mine.fr --from runs/reviews --out runs/warm
"""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be trained, and for how long."""

    recipe: str | None
    start: Path | None
    tokenizer: Path | None
    two_vocabularies: bool
    minutes: float | None
    num_tokens: int | None
    num_steps: int | None
    tensorboard: bool
    deterministic: bool
    is_compiled: bool | None


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What of the recipe is to be otherwise."""

    step_tokens: int | None
    rate: float | None
    schedule: ScheduleKind | None
    dropout: float | None
    label_smoothing: float | None
    accumulation: int | None
    average_decay: float | None
    num_averaged: int | None

    def applied(self, recipe: Recipe) -> Recipe:
        """Returns the recipe with what was given put in its place."""
        learning = given(
            peak_rate=self.rate,
            schedule=self.schedule,
            accumulation=self.accumulation,
            average_decay=self.average_decay,
        )
        smoothing = given(label_smoothing=self.label_smoothing, num_averaged=self.num_averaged)
        changed = replace(
            recipe,
            learning=replace(recipe.learning, **learning),
            translation=replace(recipe.translation, **smoothing),
        )
        if self.step_tokens is not None:
            changed = with_step_tokens(changed, self.step_tokens)
        return changed if self.dropout is None else with_dropout(changed, self.dropout)


wanted_options = packed(
    "wanted",
    Wanted,
    click.option(
        "--recipe",
        help="A recipe that translates, or a Python file.  [default: pocket on a processor, small "
        "on a GPU; with --from the shape of that run]",
    ),
    click.option("--from", "start", type=RUN_TYPE, help="A run whose trunk to begin with."),
    click.option(
        "--tokenizer",
        type=FOLDER,
        help="A tokenizer's folder, for both sides.  [default: learned from the pairs; "
        "with --from the run's]",
    ),
    click.option("--two-vocabularies", is_flag=True, help="Learn one tokenizer for each side."),
    minutes_option,
    click.option("--tokens", "num_tokens", type=COUNT_TYPE, help="Budget in target tokens."),
    steps_option,
    tensorboard_option,
    deterministic_option,
    compile_option,
)
settings_options = packed(
    "settings",
    Settings,
    click.option(
        "--step-tokens",
        type=COUNT_TYPE,
        help=f"Most tokens of a step on each side.  {RECIPES_OWN}",
    ),
    rate_option,
    schedule_option,
    click.option("--dropout", type=SHARE_TYPE, help=f"Share of values to drop.  {RECIPES_OWN}"),
    click.option(
        "--smoothing",
        "label_smoothing",
        type=SHARE_TYPE,
        help="Share of each answer that is spread over all pieces.  [default: 0.1]",
    ),
    accumulate_option,
    average_option,
    click.option(
        "--average-last",
        "num_averaged",
        type=AVERAGED_TYPE,
        help="Average so many of the last weights, and take them if better.  [default: 5]",
    ),
)


@click.command(epilog=EXAMPLES)
@pair_options
@wanted_options
@click.option("--out", type=FOLDER, required=True, help="The run's folder.")
@settings_options
@save_option
@workplace_options
@json_option
def train_translator(
    pairs: PairFiles,
    wanted: Wanted,
    out: Path,
    settings: Settings,
    save_every: int | None,
    workplace: Workplace,
    as_json: bool,
) -> None:
    """Train a translator: an encoder-decoder that learns from a source and a target file.

    Line by line the two files are each other's translation; they may be .gz, .bz2, .xz or .zst.
    On a processor the recipe is pocket, which learns in minutes to translate short texts of one
    kind. With --from the layers of a pretrained trunk are begun with wherever they fit. The run can
    be stopped or killed at any time; `headstart resume` goes on with it.
    """
    pairs.require_files()
    chosen = chosen_recipe(wanted)
    # Before torch is imported: whoever comes second is turned away at once.
    with locked(out), stopping() as asked, watched(asked) as watch:
        from headstart.pipeline.resumption import Resumption
        from headstart.pipeline.train_translator import (
            begin_translator,
            read_started,
            resume_translator,
        )

        place = replace(
            workplace.to_place(is_deterministic=wanted.deterministic),
            is_compiled=wanted.is_compiled,
        )
        recipe = settings.applied(chosen or usual_recipe(place.device, watch))
        asked_for = to_translating(pairs, wanted, recipe, place)
        interruptible(lambda: begin_translator(asked_for, out, watch))
        if not as_json and (started := read_started(out)) is not None:
            from headstart.reports.swap_table import start_table

            print_tables([start_table(started)])
        is_finished = resume_translator(out, Resumption(save_every=save_every), watch)
    show_end(out, is_finished=is_finished, as_json=as_json)
    exit_if_stopped(asked)


def chosen_recipe(wanted: Wanted) -> Recipe | None:
    """Returns the recipe that was named, or one in the shape of the start; None if neither was."""
    if wanted.recipe is None:
        start = wanted.start
        return None if start is None else paired(read_start_recipe(start), small())
    recipe = replace(find_recipe(wanted.recipe), plan=None)
    if recipe.objective != "translation":
        raise RecipeError(
            f"The recipe {recipe.name} has the objective {recipe.objective} and does not "
            "translate. Choose pocket, small or base; to begin with a trunk, name its run with "
            "--from."
        )
    return recipe


def usual_recipe(device: str, watch: Watch) -> Recipe:
    """Returns the recipe that has learned most after some minutes on such a device."""
    if device.startswith("cuda"):
        return small()
    # Of `small` a processor does half a step a second, which teaches nothing in minutes.
    watch.say("The recipe is pocket, which suits a processor; --recipe names another.")
    return pocket()


def with_step_tokens(recipe: Recipe, num_tokens: int) -> Recipe:
    """Returns the recipe with so many tokens in a step, or a few less."""
    length = min(recipe.length, num_tokens)
    return replace(recipe, length=length, sequences_per_step=num_tokens // length)


def with_dropout(recipe: Recipe, dropout: float) -> Recipe:
    """Returns the recipe with another dropout in both halves."""
    trunk = recipe.model.trunk
    assert isinstance(trunk, EncoderDecoderConfig)
    encoder, decoder = (
        replace(stack, layer=replace(stack.layer, dropout=dropout))
        for stack in (trunk.encoder, trunk.decoder)
    )
    trunk = replace(trunk, encoder=encoder, decoder=decoder)
    return replace(recipe, model=replace(recipe.model, trunk=trunk))


def to_translating(pairs: PairFiles, wanted: Wanted, recipe: Recipe, place: Place) -> Translating:
    """Returns what the options mean."""
    from headstart.pipeline.planning import Budget
    from headstart.pipeline.train_translator import Translating

    return Translating(
        recipe=recipe,
        pairs=pairs.to_config(draw=place.seed),
        budget=Budget(
            minutes=wanted.minutes, num_tokens=wanted.num_tokens, num_steps=wanted.num_steps
        ),
        place=place,
        start=wanted.start,
        tokenizer=wanted.tokenizer,
        has_two_vocabularies=wanted.two_vocabularies,
        has_tensorboard=wanted.tensorboard,
    )
