"""How a model learns: rates, schedule, accumulation, averaging; frozen and free of torch."""

from dataclasses import dataclass
from typing import Literal, get_args

from headstart.errors import RecipeError
from headstart.models.config import require_choice, require_whole

ScheduleKind = Literal["cosine", "linear", "inverse-sqrt"]
HeadKind = Literal["auto", "exact", "sampled"]
Precision = Literal["fp32", "bf16"]
# The most parts into which a step is cut.
MOST_PARTS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class LearningConfig:
    """How the weights move: AdamW, its rate over the run, and what keeps it steady."""

    peak_rate: float = 1e-3
    schedule: ScheduleKind = "cosine"
    warm_up_share: float = 0.05
    """The share of all steps in which the rate rises to its peak."""
    weight_decay: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.98
    """Gradients of rare pieces are remembered for a few dozen steps, not for a thousand."""
    max_norm: float = 1.0
    accumulation: int = 1
    """The parts into which a step is cut, to need less memory at once."""
    average_decay: float = 0.0
    """How slowly the averaged weights follow the learned ones; 0 keeps no average."""
    head: HeadKind = "auto"
    """Whether the loss is over all pieces or a sample of them; auto is settled before step 1."""

    def __post_init__(self) -> None:
        require_choice("schedule", self.schedule, get_args(ScheduleKind))
        require_choice("head", self.head, get_args(HeadKind))
        require_whole(self, "accumulation", at_least=1, at_most=MOST_PARTS)
        if not 0 < self.peak_rate <= 1:
            raise RecipeError(f"peak_rate is {self.peak_rate}; it must be above 0 and at most 1.")
        if not self.weight_decay >= 0:
            raise RecipeError(f"weight_decay is {self.weight_decay}; it must be at least 0.")
        if not self.max_norm > 0:
            raise RecipeError(f"max_norm is {self.max_norm}; it must be above 0.")
        for name in ("warm_up_share", "beta1", "beta2", "average_decay"):
            if not 0 <= getattr(self, name) < 1:
                value = getattr(self, name)
                raise RecipeError(f"{name} is {value}; it must be at least 0 and below 1.")


@dataclass(frozen=True, kw_only=True)
class PlanConfig:
    """What is settled before step 1 and never again, so that a resumed run is the same run."""

    num_steps: int
    seed: int
    device: str
    num_threads: int
    precision: Precision
    is_compiled: bool
    is_deterministic: bool
    steps_between_validations: int
    steps_between_logs: int

    @property
    def can_record(self) -> bool:
        """Whether steps may be recorded and launched as a whole, which only a GPU can do."""
        # Recorded or not, a kernel may add in another order.
        return self.device == "cuda" and not self.is_deterministic

    def __post_init__(self) -> None:
        require_whole(
            self,
            "num_steps",
            "num_threads",
            "steps_between_validations",
            "steps_between_logs",
            at_least=1,
        )
        require_choice("precision", self.precision, get_args(Precision))
