"""What a training run needs of whatever learns in it: text or labels, it is all the same here."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from headstart.models.model import Model
from headstart.pipeline.recipe import Recipe
from headstart.training.allocator import keep_freed_memory
from headstart.training.config import PlanConfig
from headstart.training.loop import AfterStep, Trainer, TrainingState, Unattended

ShouldStop = Callable[[], bool]


class ScoringStopped(Exception):  # noqa: N818 - nothing went wrong
    """Someone would rather stop than wait for scores."""


def never() -> bool:
    """Says that nobody asks to stop."""
    return False


def require_going_on(should_stop: ShouldStop) -> None:
    """Ends what someone would rather not wait for."""
    if should_stop():
        raise ScoringStopped


class Scores(Protocol):
    """What held-out text or examples say of a model."""

    @property
    def total(self) -> float:
        """What the best weights have least of."""

    def as_json(self) -> dict[str, object]:
        """Returns the scores by name."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a run has done when it comes to its end."""

    folder: Path
    num_steps: int
    best_step: int
    seconds: float
    weights: str = "best"
    """Which weights the run ends with: the best, or the averaged last ones."""


class Learner(Protocol):
    """A recipe and its data made ready to learn."""

    @property
    def recipe(self) -> Recipe:
        """What is being trained, and how."""

    @property
    def plan(self) -> PlanConfig:
        """What was settled before step 1."""

    @property
    def sources(self) -> dict[str, str]:
        """The SHA-256 of each file that is learned from or looked at."""

    @property
    def steps_per_epoch(self) -> int:
        """The steps in which everything is read once."""

    @property
    def keeps_checkpoints(self) -> bool:
        """Whether a finished run has its last checkpoint still."""

    @property
    def averaged_steps(self) -> tuple[int, ...]:
        """The steps whose weights are averaged and held against the best ones in the end."""

    def new_state(self) -> TrainingState:
        """Returns a model with its first weights, before any step."""

    def trainer(self, after_step: AfterStep, unattended: Unattended | None = None) -> Trainer:
        """Returns the loop over what is learned from."""

    def validate(self, state: TrainingState, should_stop: ShouldStop = never) -> Scores:
        """Returns the scores on what is held out."""

    def is_enough(self, step: int, best_step: int) -> bool:
        """Whether a run may end before its last step."""

    def look(self, folder: Path, model: Model[Any, Any]) -> str:
        """Returns something for people to look at, or nothing."""

    def results(
        self, model: Model[Any, Any], done: Done, should_stop: ShouldStop
    ) -> dict[str, object]:
        """Returns what the final weights are worth, and writes what goes with that."""

    def tidy(self, folder: Path) -> None:
        """Removes what a finished run has no more use for."""


def first_device(recipe: Recipe, plan: PlanConfig) -> str:
    """Returns the device that a run began on, wherever it is gone on with.

    What is remembered of a table is of the way it was moved by from the first step.
    """
    return (recipe.plan or plan).device


def settle(plan: PlanConfig) -> None:
    """Sets the process up as the plan says, so that the same numbers come out."""
    keep_freed_memory()
    torch.set_num_threads(plan.num_threads)
    if plan.device.startswith("cuda"):
        torch.set_float32_matmul_precision("high")
        if plan.is_deterministic:
            # Read when the first product is made; without it cuBLAS refuses to be deterministic.
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if plan.is_deterministic != torch.are_deterministic_algorithms_enabled():
        # Only where it changes something: the call loads the compiler, for seconds and megabytes.
        torch.use_deterministic_algorithms(plan.is_deterministic)
