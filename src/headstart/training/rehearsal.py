"""A few real training steps on made-up text, to see what a run will cost before it is begun.

Legend: B batch, T positions, M answered positions.
"""

import contextlib
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from headstart.models.accounting.duration import Machine
from headstart.models.accounting.machine import measure_machine, synchronise
from headstart.models.accounting.step import StepShape
from headstart.models.config import EncoderDecoderConfig, LayerConfig, TrunkConfig
from headstart.models.heads.config import LabelHeadConfig, LanguageHeadConfig, ModelConfig
from headstart.models.heads.label import LabelHead
from headstart.models.heads.language import LanguageHead
from headstart.models.heads.next_sentence import NextSentenceHead
from headstart.models.initialisation import initialise
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.model import AnyTrunk, Head, Model, new_model
from headstart.randomness import torch_generator
from headstart.training.allocator import keep_freed_memory, return_freed_memory

NUM_WARM_STEPS = 2
NUM_TIMED_STEPS = 5
# Steps that are timed or warm up, and one job that counts memory.
NUM_REHEARSALS = NUM_WARM_STEPS + NUM_TIMED_STEPS + 1
SECONDS_PER_MEASUREMENT = 0.3
MAX_GRADIENT_NORM = 1.0

PROCESS_STATUS = Path("/proc/self/status")

# Enough to load every library and buffer that a step needs, before memory is counted.
WARM_UP_STEP = StepShape(length=256, sequences=16)
WARM_UP_MODEL = ModelConfig(
    trunk=TrunkConfig(
        vocabulary_size=64,
        num_layers=1,
        layer=LayerConfig(
            width=256,
            num_heads=2,
            feed_forward_width=1_024,
            feed_forward="relu",
            norm="layer",
            norm_place="post",
        ),
        direction="causal",
        positions="sinusoidal",
        max_length=256,
    ),
    head=LanguageHeadConfig(is_tied=False, has_bias=True),
)


@dataclass(frozen=True, kw_only=True)
class TimedSteps:
    """What the steps took, and what the machine could do beside them."""

    step_seconds: float
    machine: Machine


@dataclass(frozen=True, kw_only=True)
class MadeUpBatch:
    """Random pieces in the shape of a step, with something to answer about them."""

    inputs: Text | SourceAndTarget
    is_answered_BT: Tensor
    piece_targets_M: Tensor
    text_targets_B: Tensor

    @property
    def text(self) -> Text:
        """The text that the answers are about: of a pair, its target."""
        return self.inputs.target if isinstance(self.inputs, SourceAndTarget) else self.inputs


class Rehearsal:
    """A model, its optimiser and one batch, ready to do the same step again and again."""

    def __init__(self, config: ModelConfig, step: StepShape, device: str, seed: int) -> None:
        self.device = device
        self.model = new_model(config).to(device)
        initialise(self.model, seed)
        self.model.trunk.requires_grad_(not step.is_frozen)
        learning = [weights for weights in self.model.parameters() if weights.requires_grad]
        self.optimiser = torch.optim.AdamW(learning, lr=1e-4, fused=True)
        self.batch = made_up_batch(config, step, device, seed)

    def do_step(self) -> float:
        """Does one whole training step and returns its seconds."""
        synchronise(self.device)
        started_at = time.perf_counter()
        torch.autograd.backward(made_up_loss(self.model, self.batch))
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), MAX_GRADIENT_NORM)
        self.optimiser.step()
        self.optimiser.zero_grad()
        synchronise(self.device)
        return time.perf_counter() - started_at


def rehearse_time(
    config: ModelConfig, step: StepShape, device: str, seed: int, on_step: Callable[[], None]
) -> TimedSteps:
    """Does a few steps and returns their median, with the machine measured beside each."""
    keep_freed_memory()
    rehearsal = Rehearsal(config, step, device, seed)
    durations, machines = [], []
    for _ in range(NUM_WARM_STEPS + NUM_TIMED_STEPS):
        # Beside each step, since a machine's speed changes with what else runs on it.
        machines.append(measure_machine(device, budget_seconds=SECONDS_PER_MEASUREMENT))
        durations.append(rehearsal.do_step())
        on_step()
    return TimedSteps(
        step_seconds=statistics.median(durations[NUM_WARM_STEPS:]),
        machine=typical(machines[NUM_WARM_STEPS:]),
    )


def rehearse_memory(config: ModelConfig, step: StepShape, device: str, seed: int) -> int | None:
    """Returns the most bytes that steps hold, PyTorch's own aside; needs a process of its own."""
    return_freed_memory()
    for _ in range(NUM_WARM_STEPS):
        Rehearsal(WARM_UP_MODEL, WARM_UP_STEP, device, seed).do_step()
    before_bytes = memory_counts(device)
    rehearsal = Rehearsal(config, step, device, seed)
    # What building took is not what steps take.
    forget_peak(device)
    # The first step allocates the optimiser's state; the second holds everything at once.
    for _ in range(2):
        rehearsal.do_step()
    after_bytes = memory_counts(device)
    if before_bytes is None or after_bytes is None:
        return None
    return after_bytes.peak - before_bytes.now


def made_up_batch(config: ModelConfig, step: StepShape, device: str, seed: int) -> MadeUpBatch:
    """Draws a batch of the step's shape."""
    generator = torch_generator(seed, "rehearsal")
    shape = (step.sequences, step.length)
    tokens_BT = torch.randint(config.trunk.vocabulary_size, shape, generator=generator)
    is_answered_BT = torch.rand(shape, generator=generator) < step.answered_share
    num_labels = config.head.num_labels if isinstance(config.head, LabelHeadConfig) else 2
    text_targets_B = torch.randint(num_labels, shape[:1], generator=generator)
    text = Text(tokens_BT.to(device))
    is_pair = isinstance(config.trunk, EncoderDecoderConfig)
    return MadeUpBatch(
        inputs=SourceAndTarget(text, text) if is_pair else text,
        is_answered_BT=is_answered_BT.to(device),
        piece_targets_M=tokens_BT[is_answered_BT].to(device),
        text_targets_B=text_targets_B.to(device),
    )


def made_up_loss(model: Model[AnyTrunk, Head], batch: MadeUpBatch) -> Tensor:
    """Returns the head's plain cross-entropy: about pieces, about the text, or about both."""
    hidden_BTD, head = model.trunk(batch.inputs), model.head
    if isinstance(head, LabelHead | NextSentenceHead):
        return text_loss(head, hidden_BTD, batch)
    if isinstance(head, LanguageHead):
        return piece_loss(head, hidden_BTD, batch)
    return piece_loss(head.language, hidden_BTD, batch) + text_loss(
        head.next_sentence, hidden_BTD, batch
    )


def piece_loss(head: LanguageHead, hidden_BTD: Tensor, batch: MadeUpBatch) -> Tensor:
    """Returns the loss about single pieces; logits exist for the answered positions only."""
    answered_MD = hidden_BTD[batch.is_answered_BT]
    return F.cross_entropy(head(answered_MD, batch.text), batch.piece_targets_M)


def text_loss(head: LabelHead | NextSentenceHead, hidden_BTD: Tensor, batch: MadeUpBatch) -> Tensor:
    """Returns the loss about whole texts."""
    return F.cross_entropy(head(hidden_BTD, batch.text), batch.text_targets_B)


def typical(machines: list[Machine]) -> Machine:
    """Returns a machine with the median rates of several measurements."""
    pass_rates = [machine.pass_rate for machine in machines if machine.pass_rate]
    return replace(
        machines[0],
        matrix_rate=statistics.median(machine.matrix_rate for machine in machines),
        pass_rate=statistics.median(pass_rates),
    )


class MemoryCounts(NamedTuple):
    """The bytes that a process holds now, and the most that it has held."""

    now: int
    peak: int


def memory_counts(device: str) -> MemoryCounts | None:
    """Returns what this process holds and has held; None where no one counts."""
    if device.startswith("cuda"):
        return MemoryCounts(
            torch.cuda.memory_allocated(device), torch.cuda.max_memory_allocated(device)
        )
    if PROCESS_STATUS.exists():
        # Linux hands ru_maxrss down from parent to child; these figures are the process's own.
        rows = dict(row.split(":", 1) for row in PROCESS_STATUS.read_text().splitlines())
        now, peak = (int(rows[name].removesuffix("kB")) * 1024 for name in ("VmRSS", "VmHWM"))
        return MemoryCounts(now, peak)
    if sys.platform == "darwin":
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return MemoryCounts(peak, peak)
    return None


def forget_peak(device: str) -> None:
    """Starts the count of the peak anew from what is held now, where the system allows it."""
    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats(device)
        return
    with contextlib.suppress(OSError):
        # 5 starts the peak anew and touches nothing else; see proc(5).
        PROCESS_STATUS.with_name("clear_refs").write_text("5")
