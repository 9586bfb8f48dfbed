"""One shape of a training step, and what it takes: our own step and the plain one, side by side.

The plain step is the one that the ledger counts and `headstart anatomy --verify` does. Ours is the
one that `pretrain` does with the exact head, its layers not compiled.
"""

import gc
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from our_language_step import DrawnRows, our_step
from record import timed

from headstart import find_recipe
from headstart.models.accounting.duration import Machine, step_seconds
from headstart.models.accounting.machine import measure_machine
from headstart.models.accounting.memory import model_memory
from headstart.models.accounting.operations import model_work
from headstart.models.accounting.step import StepShape
from headstart.models.config import TrunkConfig
from headstart.pipeline.recipe import Recipe
from headstart.training.allocator import keep_freed_memory, return_freed_memory
from headstart.training.rehearsal import (
    WARM_UP_MODEL,
    WARM_UP_STEP,
    Rehearsal,
    forget_peak,
    memory_counts,
    typical,
)

OURS, PLAIN = "headstart", "plain"
HEAD_WIDTH = 64
NUM_TIMED_STEPS = 5
# The first allocates the optimiser's state; on a GPU a few more pass until steps are recorded.
NUM_FIRST_STEPS = {"cpu": 1, "cuda": 5}
SECONDS_PER_MEASUREMENT = 0.3
SEED = 0

Step = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The documents' model in another size, and the rows of its step."""

    length: int
    vocabulary: int
    width: int
    batch: int
    num_layers: int

    @property
    def num_tokens(self) -> int:
        """The pieces of one step."""
        return self.length * self.batch

    @property
    def step(self) -> StepShape:
        """The step as the ledger knows it."""
        return StepShape(length=self.length, sequences=self.batch)

    def recipe(self) -> Recipe:
        """Returns `lab` in this size."""
        lab = find_recipe("lab")
        trunk = lab.model.trunk
        assert isinstance(trunk, TrunkConfig)
        layer = replace(
            trunk.layer,
            width=self.width,
            num_heads=max(1, self.width // HEAD_WIDTH),
            feed_forward_width=self.width,
        )
        trunk = replace(
            trunk, vocabulary_size=self.vocabulary, num_layers=self.num_layers, layer=layer
        )
        return replace(
            lab,
            model=replace(lab.model, trunk=trunk),
            length=self.length,
            sequences_per_step=self.batch,
        )


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What one form of a step took."""

    seconds: tuple[float, ...]
    peak_bytes: int

    def as_json(self, num_tokens: int) -> dict[str, object]:
        """Returns the median with its spread, as other records have it."""
        median = statistics.median(self.seconds)
        return {
            "median_seconds": median,
            "min_seconds": min(self.seconds),
            "max_seconds": max(self.seconds),
            "seconds": list(self.seconds),
            "tokens_per_second": num_tokens / median,
            "peak_bytes": self.peak_bytes,
        }


def predicted(shape: Shape, machine: Machine) -> dict[str, float]:
    """Returns what the ledger says of a plain step of this shape on a machine."""
    model = shape.recipe().model
    seconds = step_seconds(model, shape.step, machine)
    return {
        "operations": shape.num_tokens * sum(part.total for part in model_work(model, shape.step)),
        "step_seconds": seconds,
        "tokens_per_second": shape.num_tokens / seconds,
        "peak_bytes": model_memory(model, shape.step).peak,
    }


def measured(shape: Shape, device: str) -> tuple[dict[str, Taken], Machine]:
    """Counts memory and then times the steps; needs a process that has done nothing else."""
    forms: Mapping[str, Callable[[], Step]] = {
        OURS: partial(our_step_of, shape, device),
        PLAIN: lambda: Rehearsal(shape.recipe().model, shape.step, device, SEED).do_step,
    }
    return_freed_memory()
    for _ in range(2):
        Rehearsal(WARM_UP_MODEL, WARM_UP_STEP, device, SEED).do_step()
    peaks = {name: peak_bytes(new_step, device) for name, new_step in forms.items()}
    keep_freed_memory()
    seconds: dict[str, list[float]] = {name: [] for name in forms}
    machines = [measure_machine(device, SECONDS_PER_MEASUREMENT)]
    steps = {name: new_step() for name, new_step in forms.items()}
    for step in steps.values():
        do_first(step, device)
    for _ in range(NUM_TIMED_STEPS):
        for name, step in steps.items():
            seconds[name].append(timed(step, device))
    machines.append(measure_machine(device, SECONDS_PER_MEASUREMENT))
    taken = {name: Taken(seconds=tuple(seconds[name]), peak_bytes=peaks[name]) for name in forms}
    return taken, typical(machines)


def our_step_of(shape: Shape, device: str) -> Step:
    """Returns the step that `pretrain` does in a shape, on rows of drawn pieces."""
    rows = DrawnRows.of(shape.batch, shape.length, shape.vocabulary, device)
    return our_step(shape.recipe(), rows, "fp32" if device == "cpu" else "bf16", is_compiled=False)


def peak_bytes(new_step: Callable[[], Step], device: str) -> int:
    """Returns the most bytes that a form's steps hold, with weights and optimiser."""
    gc.collect()
    before = memory_counts(device)
    step = new_step()
    # What building took is not what steps take.
    forget_peak(device)
    do_first(step, device)
    # The next one holds everything at once.
    step()
    after = memory_counts(device)
    assert before is not None, "this system does not count memory"
    assert after is not None
    return after.peak - before.now


def do_first(step: Step, device: str) -> None:
    """Does the steps that are not like the later ones."""
    for _ in range(NUM_FIRST_STEPS[device.partition(":")[0]]):
        step()
