"""What every objective provides: rows with questions for any step, and a loss for the answers."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from headstart.batches.store import TokenStore
from headstart.models.model import Model
from headstart.objectives.batch import Batch, Rows

# Each part of a loss, summed over its answers, so that a step weighs answers and not batches.
Loss = Mapping[str, Tensor]
# Hidden vectors, matrix, bias and targets to summed cross-entropy.
HeadLoss = Callable[[Tensor, Tensor, Tensor | None, Tensor], Tensor]


@dataclass(frozen=True, kw_only=True)
class StepRows:
    """The size of a step, and the seed of its draws."""

    length: int
    sequences: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Stream:
    """The rows of every step of a run; any step can be asked for at once."""

    at: Callable[[int], Rows]
    steps_per_epoch: int


class StepBatch(Protocol):
    """What the loop needs to know of a batch."""

    @property
    def names(self) -> tuple[str, ...]:
        """What each row is called when something is wrong with it."""

    @property
    def num_tokens(self) -> int:
        """The positions that are computed."""

    @property
    def counts(self) -> Mapping[str, float]:
        """How many answers of each kind are asked for; some may count as more or less than one."""


class Judge(Protocol):
    """What the loop needs of an objective: a loss for a batch of the objective's own kind."""

    def loss(self, model: Model[Any, Any], batch: Any) -> Loss:
        """Returns each part of the loss, summed over the answers of a batch."""


class Objective(Judge, Protocol):
    """What is being learned from plain text."""

    def training_rows(self, store: TokenStore, step: StepRows) -> Stream:
        """Returns the rows of every step, in an order that is a function of seed and step."""

    def held_out_rows(self, store: TokenStore, step: StepRows) -> Iterator[Rows]:
        """Yields all of a held-out text once, with questions that are always the same."""

    def loss(self, model: Model[Any, Any], batch: Batch) -> Loss:
        """Returns each part of the loss, summed over the answers of a batch."""
