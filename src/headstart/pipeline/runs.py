"""The runs in a folder: how far each is, how good, how large; and removing one."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headstart.checkpoints.names import steps_in
from headstart.errors import HeadstartError, LockedError
from headstart.files import is_locked, remove_folder
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
        score = read_results(folder)["held_out"]["bits_per_byte"] if is_done else None
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
        step=num_steps if is_done else max(steps, default=0),
        num_steps=num_steps,
        bits_per_byte=score,
        num_bytes=num_bytes,
    )


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
    require_run(folder)
    if is_locked(folder):
        raise LockedError(f"{folder} is running. Stop it before you remove it.")
    remove_folder(folder)
