"""The ledger: all that can be said of a model before it is trained, as one record."""

from dataclasses import dataclass
from typing import Literal

from headstart.models.accounting.complexity import Complexity, LayerTimings
from headstart.models.accounting.duration import Machine
from headstart.models.accounting.memory import Memory
from headstart.models.accounting.operations import Work
from headstart.models.accounting.parameters import Part, trainable_count
from headstart.models.accounting.quoted import Quoted
from headstart.models.accounting.shorthands import Shorthand
from headstart.models.accounting.step import StepShape
from headstart.models.heads.config import ModelConfig

Fit = Literal["whole", "in parts", "no"]


@dataclass(frozen=True, kw_only=True)
class Projection:
    """What a step and a run would take on a machine, and whether it fits there."""

    machine: Machine
    step_seconds: float
    num_tokens: int | None
    """The tokens of the run, where they were asked about."""
    seconds: float | None
    fits_whole: bool | None
    """Whether a step fits the machine's memory at once; None where that is unknown."""
    most_sequences: int | None
    """The most sequences at once that fit while gradients accumulate; 0 where none does."""

    @property
    def fit(self) -> Fit | None:
        """Whether a step fits whole, in parts over which gradients accumulate, or not at all."""
        if self.fits_whole is None:
            return None
        if self.fits_whole:
            return "whole"
        return "in parts" if self.most_sequences else "no"


@dataclass(frozen=True, kw_only=True)
class Rehearsed:
    """What a few real steps took, beside what the ledger had predicted for this machine."""

    machine: Machine
    """The machine as it was beside the steps."""
    promised_seconds: float | None
    """What was predicted before, from the rates that were known; None for another machine."""
    predicted_seconds: float
    """What the rates beside the steps would have predicted."""
    seen_seconds: float
    predicted_bytes: int
    seen_bytes: int | None
    """None where the system does not count."""


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """Parameters, operations, bytes, minutes and complexity of one recipe for one task."""

    name: str
    task: str
    model: ModelConfig
    step: StepShape
    parts: tuple[Part, ...]
    shorthands: tuple[Shorthand, ...]
    quoted: Quoted | None
    work: tuple[Work, ...]
    memory: Memory
    projection: Projection
    complexity: Complexity

    @property
    def num_parameters(self) -> int:
        """All parameters, learning or not."""
        return sum(part.count for part in self.parts)

    @property
    def num_trainable(self) -> int:
        """The parameters that learn: all of them, or the head's on a frozen trunk."""
        return trainable_count(self.parts, is_frozen=self.step.is_frozen)

    @property
    def forward_per_token(self) -> float:
        """The operations of the forward pass for each token."""
        return sum(part.forward.value for part in self.work)

    @property
    def backward_per_token(self) -> float:
        """The operations of the backward pass for each token."""
        return sum(part.backward for part in self.work)

    @property
    def flops_per_step(self) -> float:
        """The operations of a whole training step."""
        return self.step.num_tokens * (self.forward_per_token + self.backward_per_token)


@dataclass(frozen=True, kw_only=True)
class Anatomy:
    """A ledger with what was seen beside it, where real steps or layers were asked for."""

    ledger: Ledger
    rehearsed: Rehearsed | None = None
    timings: LayerTimings | None = None
