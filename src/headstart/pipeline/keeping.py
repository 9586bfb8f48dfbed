"""When a run keeps a checkpoint: often enough to lose little, seldom enough to cost little."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from headstart.training.loop import TrainingState

# Saving may take this share of the time, and no more work than this is ever at risk.
LARGEST_SHARE = 0.02
MOST_SECONDS_AT_RISK = 240.0
FEWEST_SECONDS_BETWEEN = 10.0
# What a slow disk writes, the hashing included.
SLOW_BYTES_PER_SECOND = 200e6


@dataclass
class Keeper:
    """Decides after each step whether to save, by what saving has cost so far."""

    save: Callable[[TrainingState], None]
    steps_between: int | None = None
    """Saves every so many steps instead, whatever it costs."""

    def __post_init__(self) -> None:
        self.save_seconds = 0.0
        self.saved_at = time.monotonic()
        self.saved_step: int | None = None

    @property
    def seconds_since(self) -> float:
        """How much work would be lost if the run were killed now."""
        return time.monotonic() - self.saved_at

    def expect(self, num_bytes: int) -> None:
        """Guesses what a save will cost, until one was seen."""
        self.save_seconds = num_bytes / SLOW_BYTES_PER_SECOND

    def after_step(self, state: TrainingState) -> None:
        """Saves where it is time to."""
        if self.is_due(state.step):
            self.keep(state)

    def is_due(self, step: int) -> bool:
        """Whether it is time to save after a step."""
        if self.steps_between is not None:
            return step % self.steps_between == 0
        wait = max(FEWEST_SECONDS_BETWEEN, self.save_seconds / LARGEST_SHARE)
        return self.seconds_since >= min(wait, MOST_SECONDS_AT_RISK)

    def keep(self, state: TrainingState) -> None:
        """Saves now, unless this very step is saved already."""
        if self.saved_step == state.step:
            return
        started_at = time.monotonic()
        self.save(state)
        self.saved_at = time.monotonic()
        self.save_seconds = self.saved_at - started_at
        self.saved_step = state.step
