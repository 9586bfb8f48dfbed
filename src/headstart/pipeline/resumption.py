"""Going on with a run: on which device, and only with what it began with."""

from dataclasses import dataclass, replace
from pathlib import Path

from headstart.errors import RunError
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.run_files import RECIPE_FILE, TOKENIZER_FOLDER
from headstart.pipeline.this_machine import choose_device
from headstart.pipeline.watch import Watch
from headstart.tokenizers.tokenizer import Tokenizer
from headstart.training.config import PlanConfig

# What the tokenizer is called beside the files of text, when either has changed.
TOKENIZER = "the tokenizer"


@dataclass(frozen=True, kw_only=True)
class Resumption:
    """How a run is gone on with, where not as before."""

    device: str | None = None
    num_threads: int | None = None
    save_every: int | None = None
    is_forced: bool = False
    """Whether to go on although the text or the tokenizer has changed."""


def resumed_plan(recipe: Recipe, wanted: Resumption, folder: Path) -> PlanConfig:
    """Returns the plan that a run has settled, on another device or threads where so wanted."""
    if recipe.plan is None:
        raise RunError(f"{folder / RECIPE_FILE} has no plan, so no run was begun there.")
    device = recipe.plan.device if wanted.device is None else wanted.device
    num_threads = recipe.plan.num_threads if wanted.num_threads is None else wanted.num_threads
    return replace(recipe.plan, device=choose_device(device), num_threads=num_threads)


def require_fitting(tokenizer: Tokenizer, recipe: Recipe, folder: Path) -> None:
    """Raises an error where a run's tokenizer was replaced by one of another size."""
    vocabulary_size = recipe.model.trunk.vocabulary_size
    if tokenizer.size != vocabulary_size:
        raise RunError(
            f"{folder / TOKENIZER_FOLDER} has {tokenizer.size:,} pieces, but the run began with "
            f"{vocabulary_size:,}. Restore the tokenizer from a copy."
        )


def require_same_text(
    then: dict[str, str], now: dict[str, str], watch: Watch, *, is_forced: bool
) -> None:
    """Raises an error where the text is not what the run began with, unless it is forced."""
    changed = [name for name in then if then[name] != now.get(name)]
    if not changed:
        return
    sentence = f"{', '.join(changed)} changed since the run began"
    if not is_forced:
        raise RunError(f"{sentence}. Restore what was there, or go on without it by --force.")
    watch.say(f"{sentence}; going on with what is there now, as told.")
