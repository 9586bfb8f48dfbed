"""Seconds for a training step, from its operations, its bytes and two rates of a machine.

Matrix products run at the machine's matrix rate. What lies between them is bound by memory: each
pass over a tensor costs its bytes at the rate at which fresh memory is read and written.
"""

from dataclasses import dataclass

from headstart.models.accounting.memory import BYTES_PER_NUMBER, model_memory, num_logits
from headstart.models.accounting.operations import model_work
from headstart.models.accounting.step import StepShape
from headstart.models.heads.config import ModelConfig

# The constants below were read off profiles of plain steps on CPUs (docs/decisions/0004).
# Attention's many small products reach about this share of the matrix rate.
ATTENTION_EFFICIENCY = 0.6
# Logits are written, normalised, judged, and differentiated twice; most of it in fresh memory.
LOGIT_PASSES = 10.0
# Activations are small enough to stay in cache for most of the passes over them.
ACTIVATION_PASSES = 1.0
# Clipping reads gradients; AdamW reads and writes weights, gradients and both moments.
OPTIMISER_PASSES = 2.0


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What a machine can do, as far as the ledger needs it."""

    name: str
    matrix_rate: float
    """Floating-point operations a second in matrix products."""
    pass_rate: float | None
    """Bytes a second, read and written, in one pass over fresh memory; None where unknown."""
    memory_bytes: int | None
    """The memory that there is in all; None where unknown."""


def step_seconds(config: ModelConfig, step: StepShape, machine: Machine) -> float:
    """Returns how long a training step should take; without a pass rate, its products alone."""
    work = model_work(config, step)
    has_passes = machine.pass_rate is not None
    attention_efficiency = ATTENTION_EFFICIENCY if has_passes else 1.0
    num_operations = step.num_tokens * sum(
        part.total / (attention_efficiency if part.is_attention else 1.0) for part in work
    )
    seconds = num_operations / machine.matrix_rate
    if machine.pass_rate is not None:
        seconds += 2 * passed_bytes(config, step) / machine.pass_rate
    return seconds


def passed_bytes(config: ModelConfig, step: StepShape) -> float:
    """The bytes of all tensors, each as often as a step passes over it."""
    memory = model_memory(config, step)
    return (
        LOGIT_PASSES * BYTES_PER_NUMBER * num_logits(config, step)
        + ACTIVATION_PASSES * memory.activations
        + OPTIMISER_PASSES * (memory.gradients + memory.optimiser)
    )
