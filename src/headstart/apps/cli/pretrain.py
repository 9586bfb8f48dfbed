"""The command `pretrain`: text to trunk, in a run that cannot be lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from headstart.apps.cli.interruption import interruptible
from headstart.apps.cli.options import (
    Workplace,
    folder_type,
    json_option,
    packed,
    workplace_options,
)
from headstart.apps.cli.reading import ReadingOptions, reading_options
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
from headstart.apps.cli.values import COUNT_TYPE
from headstart.apps.recipes.finding import find_recipe
from headstart.corpora.hub import is_hub
from headstart.corpora.sources import find_files
from headstart.errors import RecipeError
from headstart.locks import locked
from headstart.pipeline.run_files import read_recipe
from headstart.training.config import HeadKind, ScheduleKind

if TYPE_CHECKING:
    from headstart.pipeline.pretrain import Pretraining
    from headstart.pipeline.recipe import Recipe

EXAMPLES = """\b
Examples:
  headstart pretrain reviews.txt.xz --minutes 30 --out runs/reviews
  headstart pretrain books/ --recipe lab --tokenizer tokenizer --tokens 20M --out runs/lab
  headstart pretrain mine.txt --from runs/reviews --minutes 5 --out runs/mine
  headstart pretrain train.csv --from film-en --keep-out test.csv --out runs/film-mine
"""
FOLDER = folder_type()
OBJECTIVES = ("causal", "masked", "masked+next")
DEFAULT_RECIPE = "compact"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be trained, and for how long."""

    recipe: str | None
    objective: str | None
    start: Path | None
    tokenizer: Path | None
    valid: tuple[str, ...]
    keep_out: tuple[str, ...]
    minutes: float | None
    num_tokens: int | None
    num_steps: int | None
    tensorboard: bool
    deterministic: bool
    is_compiled: bool | None


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What of the recipe is to be otherwise."""

    length: int | None
    sequences: int | None
    rate: float | None
    schedule: ScheduleKind | None
    accumulation: int | None
    average_decay: float | None
    head: HeadKind | None
    hide_share: float | None
    whole_words: bool | None

    def applied(self, recipe: Recipe) -> Recipe:
        """Returns the recipe with what was given put in its place."""
        hides = self.hide_share is not None or self.whole_words is not None
        if hides and recipe.objective == "causal":
            raise RecipeError(
                "--hide, --whole-words and --single-pieces belong to a masked objective, but this "
                "run's is causal, which hides nothing. Leave them out, or choose --objective "
                "masked."
            )
        learning = given(
            peak_rate=self.rate,
            schedule=self.schedule,
            accumulation=self.accumulation,
            average_decay=self.average_decay,
            head=self.head,
        )
        hiding = given(share=self.hide_share, hides_words=self.whole_words)
        return replace(
            recipe,
            learning=replace(recipe.learning, **learning),
            hiding=replace(recipe.hiding, **hiding),
            **given(length=self.length, sequences_per_step=self.sequences),
        )


wanted_options = packed(
    "wanted",
    Wanted,
    click.option(
        "--recipe", help=f"A recipe's name, or a Python file.  [default: {DEFAULT_RECIPE}]"
    ),
    click.option(
        "--objective",
        type=click.Choice(OBJECTIVES),
        help="What is learned.  [default: the recipe's]",
    ),
    click.option("--from", "start", type=RUN_TYPE, help="A run to go on from, with other text."),
    click.option(
        "--tokenizer",
        type=FOLDER,
        help="A tokenizer's folder.  [default: learned from the text; with --from the run's]",
    ),
    click.option(
        "--valid",
        multiple=True,
        help="Held-out text; may be given several times.  [default: part of the corpus]",
    ),
    click.option(
        "--keep-out",
        multiple=True,
        help="A test whose texts the corpus must not hold; may be given several times.",
    ),
    minutes_option,
    click.option("--tokens", "num_tokens", type=COUNT_TYPE, help="Budget in tokens."),
    steps_option,
    tensorboard_option,
    deterministic_option,
    compile_option,
)
settings_options = packed(
    "settings",
    Settings,
    click.option("--length", type=COUNT_TYPE, help=f"Tokens in a sequence.  {RECIPES_OWN}"),
    click.option("--sequences", type=COUNT_TYPE, help=f"Sequences in a step.  {RECIPES_OWN}"),
    rate_option,
    schedule_option,
    accumulate_option,
    average_option,
    click.option(
        "--head",
        type=click.Choice(get_args(HeadKind)),
        help="Learn from the scores of all pieces, or of a sample.  [default: auto]",
    ),
    click.option(
        "--hide",
        "hide_share",
        type=float,
        help=f"Share of hidden pieces, for a masked objective.  {RECIPES_OWN}",
    ),
    click.option(
        "--whole-words/--single-pieces",
        "whole_words",
        default=None,
        help=f"What is hidden, for a masked objective.  {RECIPES_OWN}",
    ),
)


@click.command(epilog=EXAMPLES)
@click.argument("corpus", nargs=-1, required=True)
@wanted_options
@click.option("--out", type=FOLDER, required=True, help="The run's folder.")
@settings_options
@save_option
@workplace_options
@reading_options
@json_option
def pretrain(
    corpus: tuple[str, ...],
    wanted: Wanted,
    out: Path,
    settings: Settings,
    save_every: int | None,
    workplace: Workplace,
    reading: ReadingOptions,
    as_json: bool,
) -> None:
    """Pretrain a trunk on text.

    CORPUS is any number of files, folders and patterns: .txt, .jsonl, .csv, .tsv, .parquet, each
    also as .gz, .bz2, .xz or .zst. The run can be stopped or killed at any time; `headstart resume`
    goes on with it.
    """
    recipe = settings.applied(chosen_recipe(wanted))
    # Before torch is imported: whoever comes second is turned away at once.
    with locked(out), stopping() as asked, watched(asked) as watch:
        from headstart.pipeline.pretrain import begin, resume_run
        from headstart.pipeline.resumption import Resumption

        asked_for = to_pretraining(corpus, wanted, recipe, workplace, reading)
        interruptible(lambda: begin(asked_for, out, watch))
        is_finished = resume_run(out, Resumption(save_every=save_every), watch)
    show_end(out, is_finished=is_finished, as_json=as_json)
    exit_if_stopped(asked)


def given(**values: Any) -> dict[str, Any]:
    """Returns the values that were given."""
    return {name: value for name, value in values.items() if value is not None}


def chosen_recipe(wanted: Wanted) -> Recipe:
    """Returns the recipe that was named, or that of the run to go on from."""
    if wanted.start is None:
        return find_recipe(wanted.recipe or DEFAULT_RECIPE, wanted.objective)
    for name, value in (("--recipe", wanted.recipe), ("--tokenizer", wanted.tokenizer)):
        if value is not None:
            raise RecipeError(
                f"{name} is {value}, but --from goes on with what {wanted.start} has. Leave one "
                "out."
            )
    recipe = replace(read_recipe(wanted.start), plan=None)
    if wanted.objective not in {None, recipe.objective}:
        raise RecipeError(
            f"{wanted.start} was pretrained with the objective {recipe.objective} and cannot go on "
            f"with {wanted.objective}. Leave --objective out, or begin without --from."
        )
    return recipe


def to_pretraining(
    corpus: tuple[str, ...],
    wanted: Wanted,
    recipe: Recipe,
    workplace: Workplace,
    reading: ReadingOptions,
) -> Pretraining:
    """Returns what the options mean."""
    from headstart.pipeline.corpus_stores import CorpusConfig
    from headstart.pipeline.planning import Budget
    from headstart.pipeline.pretrain import Pretraining

    return Pretraining(
        recipe=recipe,
        corpus=CorpusConfig(
            corpus=absolute(corpus),
            valid=absolute(wanted.valid) if wanted.valid else (),
            documents=reading.documents,
            text_column=reading.text_column,
            skips_bad=reading.skip_bad,
        ),
        budget=Budget(
            minutes=wanted.minutes, num_tokens=wanted.num_tokens, num_steps=wanted.num_steps
        ),
        place=replace(
            workplace.to_place(is_deterministic=wanted.deterministic),
            is_compiled=wanted.is_compiled,
        ),
        tokenizer=wanted.tokenizer,
        start=wanted.start,
        kept_out=wanted.keep_out,
        has_tensorboard=wanted.tensorboard,
    )


def absolute(names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the files that names stand for, wherever a run is gone on with."""
    return tuple(str(path if is_hub(path) else path.resolve()) for path in find_files(names))
