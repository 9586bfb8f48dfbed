"""The ledger: all that can be said of a model before it is trained, as one record."""

from dataclasses import dataclass

from headstart.models.accounting.complexity import Complexity, LayerTimings
from headstart.models.accounting.duration import Machine
from headstart.models.accounting.memory import Memory
from headstart.models.accounting.operations import Work
from headstart.models.accounting.parameters import Part
from headstart.models.accounting.quoted import Quoted
from headstart.models.accounting.shorthands import Shorthand
from headstart.models.accounting.step import StepShape
from headstart.models.heads.config import ModelConfig


@dataclass(frozen=True, kw_only=True)
class Projection:
    """What a step and a run would take on a machine, and whether it fits there."""

    machine: Machine
    step_seconds: float
    num_tokens: int | None
    """The tokens of the run, where they were asked about."""
    seconds: float | None
    most_sequences: int | None
    """The most sequences that fit the machine at once; 0 where not even one does."""

    @property
    def fits(self) -> bool | None:
        """Whether at least one sequence fits, gradients accumulated; None for unknown memory."""
        return None if self.most_sequences is None else self.most_sequences > 0


@dataclass(frozen=True, kw_only=True)
class Rehearsed:
    """What a few real steps took, beside what the ledger had predicted for this machine."""

    machine: Machine
    predicted_seconds: float
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
        return self.parts[-1].count if self.step.is_frozen else self.num_parameters


@dataclass(frozen=True, kw_only=True)
class Anatomy:
    """A ledger with what was seen beside it, where real steps or layers were asked for."""

    ledger: Ledger
    rehearsed: Rehearsed | None = None
    timings: LayerTimings | None = None
