"""The mean of the weights at a few last steps of a run, added up as they come."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headstart.pipeline.leaders import Weights

# The group of a checkpoint that holds the mean so far.
LAST = "last"


class LastWeights:
    """Takes in the weights at steps that were settled beforehand, and keeps only their mean."""

    def __init__(self, steps: Sequence[int]) -> None:
        self.steps = frozenset(steps)
        self.num_seen = 0
        self.mean: Weights = {}

    @property
    def num_kept(self) -> int:
        """How many sets of weights are kept: one, where a mean is wanted at all."""
        return int(bool(self.steps))

    def offer(self, step: int, weights: Callable[[], Weights]) -> None:
        """Takes weights in where their step is one of those that are averaged."""
        if step not in self.steps:
            return
        self.num_seen += 1
        if self.num_seen == 1:
            self.mean = {name: tensor.to("cpu", copy=True) for name, tensor in weights().items()}
            return
        for name, tensor in weights().items():
            self.mean[name].lerp_(tensor.to("cpu"), 1 / self.num_seen)

    def facts(self) -> dict[str, int]:
        """Returns what a checkpoint must remember beside the mean."""
        return {"num_seen": self.num_seen}

    def groups(self) -> Mapping[str, Weights]:
        """Returns the mean, named as a checkpoint names its groups; nothing before the first."""
        return {LAST: self.mean} if self.num_seen else {}

    def restore(self, facts: Mapping[str, Any] | None, groups: Mapping[str, Weights]) -> None:
        """Takes up the mean that a checkpoint holds."""
        if facts is not None and facts["num_seen"]:
            self.num_seen = int(facts["num_seen"])
            self.mean = {name: tensor.clone() for name, tensor in groups[LAST].items()}
