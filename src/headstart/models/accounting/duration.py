"""Seconds for a training step, from its operations, its bytes and two rates of a machine.

Matrix products run at the machine's matrix rate. What lies between them is bound by memory, and is
counted in passes: reading a tensor and writing one of its size, at the machine's pass rate.
"""

import math
from dataclasses import dataclass

from headstart.errors import RecipeError
from headstart.models.accounting.memory import BYTES_PER_NUMBER, model_memory, num_logits
from headstart.models.accounting.operations import model_work
from headstart.models.accounting.step import StepShape
from headstart.models.heads.config import ModelConfig

# Attention's many small products reach about this share of the matrix rate.
ATTENTION_EFFICIENCY = 0.6


@dataclass(frozen=True, kw_only=True)
class PassCosts:
    """What is done to each byte between the products, in passes over memory."""

    logits: float
    activations: float
    gradients: float


# Read off real steps (docs/decisions/0004). A processor spends more than memory's own time: it
# computes exponentials and asks the system for fresh pages, where a GPU only moves bytes.
PROCESSOR_COSTS = PassCosts(logits=17.0, activations=5.6, gradients=4.0)
GPU_COSTS = PassCosts(logits=10.0, activations=1.5, gradients=6.0)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What a machine can do, as far as the ledger needs it."""

    name: str
    matrix_rate: float
    """Floating-point operations a second in matrix products."""
    pass_rate: float | None
    """Bytes a second, read and written, in one pass over memory; None where unknown."""
    memory_bytes: int | None
    """The memory that there is in all; None where unknown."""
    is_gpu: bool = False

    def __post_init__(self) -> None:
        for name in ("matrix_rate", "pass_rate", "memory_bytes"):
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and math.isfinite(value) and value > 0
            if not is_number and (value is not None or name == "matrix_rate"):
                raise RecipeError(f"{name} is {value!r}; it must be a number above 0.")


def step_seconds(config: ModelConfig, step: StepShape, machine: Machine) -> float:
    """Returns how long a training step should take; without a pass rate, its products alone."""
    work = model_work(config, step)
    # A machine known by its rate alone is taken at its word: nothing fitted elsewhere applies.
    has_passes = machine.pass_rate is not None
    attention_efficiency = ATTENTION_EFFICIENCY if has_passes else 1.0
    num_operations = step.num_tokens * sum(
        part.total / (attention_efficiency if part.is_attention else 1.0) for part in work
    )
    seconds = num_operations / machine.matrix_rate
    if machine.pass_rate is not None:
        # Twice: the rate counts bytes read and written, a tensor's size counts once.
        costs = GPU_COSTS if machine.is_gpu else PROCESSOR_COSTS
        seconds += 2 * passed_bytes(config, step, costs) / machine.pass_rate
    return seconds


def passed_bytes(config: ModelConfig, step: StepShape, costs: PassCosts) -> float:
    """The bytes of all tensors, each as often as a step passes over it."""
    memory = model_memory(config, step)
    return (
        costs.logits * BYTES_PER_NUMBER * num_logits(config, step)
        + costs.activations * memory.activations
        + costs.gradients * memory.gradients
    )
