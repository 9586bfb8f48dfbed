"""The weights that did best on held-out data so far: one set, or several to be averaged."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Weights = dict[str, Tensor]
# The group of a checkpoint that holds the best weights; those behind them are numbered.
BEST = "best"


@dataclass(frozen=True)
class Leader:
    """Weights, when they were seen, and what they had least of."""

    step: int
    total: float
    weights: Weights


class Leaders:
    """The few best weights, the best first."""

    def __init__(self, num_kept: int) -> None:
        self.num_kept = num_kept
        self.found: list[Leader] = []

    @property
    def step(self) -> int:
        """When the best weights were seen; 0 before any were."""
        return self.found[0].step if self.found else 0

    def offer(self, step: int, total: float, weights: Callable[[], Weights]) -> None:
        """Takes weights in where they are among the best; of equals, the earlier ones lead."""
        is_better = len(self.found) < self.num_kept or total < self.found[-1].total
        if is_better:
            self.found.append(Leader(step, total, weights()))
            self.found.sort(key=lambda leader: (leader.total, leader.step))
            del self.found[self.num_kept :]

    def weights(self) -> Weights:
        """Returns the average of the leaders; of one, its own weights bit for bit."""
        first = self.found[0].weights
        if len(self.found) == 1:
            return first
        return {
            name: torch.stack([leader.weights[name] for leader in self.found]).mean(dim=0)
            for name in first
        }

    def facts(self) -> list[dict[str, float]]:
        """Returns what a checkpoint must remember beside the weights."""
        return [{"step": leader.step, "total": leader.total} for leader in self.found]

    def groups(self) -> Mapping[str, Weights]:
        """Returns the weights of each leader, named as a checkpoint names its groups."""
        return {group_name(place): leader.weights for place, leader in enumerate(self.found)}

    def restore(self, facts: list[dict[str, Any]], groups: Mapping[str, Weights]) -> None:
        """Takes up the leaders that a checkpoint holds."""
        self.found = [
            Leader(int(fact["step"]), float(fact["total"]), groups[group_name(place)])
            for place, fact in enumerate(facts)
        ]
        assert all(math.isfinite(leader.total) for leader in self.found)


def group_name(place: int) -> str:
    """Returns the name of the group that holds a leader's weights."""
    return BEST if place == 0 else f"{BEST}-{place + 1}"
