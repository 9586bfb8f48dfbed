"""The runs in a folder: how far each is, how good, how large; and removing one."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from headstart.checkpoints.names import steps_in
from headstart.errors import HeadstartError, LockedError, RunError
from headstart.files import remove_folder
from headstart.locks import is_locked
from headstart.pipeline.free_folder import RUN_NAMES, first_other
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.run_files import (
    CHECKPOINTS_FOLDER,
    RECIPE_FILE,
    is_finished,
    read_recipe,
    read_results,
    require_run,
)

RunState = Literal["running", "finished", "stopped", "damaged"]
# How deep below the folder that was named runs are looked for.
PATTERNS = tuple("*/" * depth + RECIPE_FILE for depth in range(4))


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """One run in a few words."""

    folder: Path
    state: RunState
    recipe: str = ""
    objective: str = ""
    step: int = 0
    num_steps: int = 0
    bits_per_byte: float | None = None
    """How well a language model predicts held-out text."""
    accuracy: float | None = None
    """How many validation examples a classifier has right."""
    bleu: float | None = None
    """How well a translator translates validation pairs."""
    num_bytes: int = 0


def find_runs(folder: Path) -> Iterator[RunSummary]:
    """Yields the runs in a folder and a few levels below it."""
    found = {path.parent for pattern in PATTERNS for path in folder.glob(pattern)}
    for path in sorted(found):
        yield summary(path)


def summary(folder: Path) -> RunSummary:
    """Returns what can be told of a run from its files."""
    num_bytes = size_of(folder)
    try:
        recipe = read_recipe(folder)
        is_done = is_finished(folder)
        score = Score() if not is_done else score_of(read_results(folder), recipe)
    except (HeadstartError, KeyError, TypeError):
        return RunSummary(folder=folder, state="damaged", num_bytes=num_bytes)
    num_steps = recipe.plan.num_steps if recipe.plan else 0
    steps = steps_in(folder / CHECKPOINTS_FOLDER)
    state: RunState = "running" if is_locked(folder) else "finished" if is_done else "stopped"
    return RunSummary(
        folder=folder,
        state=state,
        recipe=recipe.name,
        objective=recipe.objective,
        step=max(steps, default=0) if not is_done else score.num_steps or num_steps,
        num_steps=num_steps,
        bits_per_byte=score.bits_per_byte,
        accuracy=score.accuracy,
        bleu=score.bleu,
        num_bytes=num_bytes,
    )


@dataclass(frozen=True, kw_only=True)
class Score:
    """The one number by which a run of its kind is judged, and the steps that led to it."""

    bits_per_byte: float | None = None
    accuracy: float | None = None
    bleu: float | None = None
    num_steps: int | None = None


def score_of(results: dict[str, Any], recipe: Recipe) -> Score:
    """Returns what a finished run says of itself; a classifier may have had enough early."""
    if recipe.task == "translation":
        return Score(bleu=results["valid"]["bleu"], num_steps=results["steps"])
    if recipe.transfer is None:
        return Score(bits_per_byte=results["held_out"]["bits_per_byte"])
    return Score(accuracy=results["valid"]["accuracy"], num_steps=results["steps"])


def size_of(folder: Path) -> int:
    """Returns the bytes of a run's files; what a running one removes meanwhile has none."""
    num_bytes = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                num_bytes += Path(parent, name).stat().st_size
    return num_bytes


def remove_run(folder: Path) -> None:
    """Removes a run, unless it is running; what is no run is left alone."""
    require_removable(folder)
    remove_folder(folder)


def require_removable(folder: Path) -> None:
    """Raises an error unless a folder is a run that is not running, and holds nothing else."""
    require_run(folder)
    if is_locked(folder):
        raise LockedError(f"{folder} is running. Stop it before you remove it.")
    if (other := first_other(folder, RUN_NAMES)) is not None:
        raise RunError(
            f"{other} is not the run's own, and would be removed with it. Move it out of {folder} "
            "first."
        )
