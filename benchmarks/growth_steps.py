"""One shape of a training step, and what it takes: our own step and the plain one, side by side.

The plain step is the one that the ledger counts and `headstart anatomy --verify` does. Ours is the
one that `pretrain` does with the exact head, its layers not compiled.
"""

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import torch

from headstart import Text, find_recipe, initialise, new_model
from headstart.models.accounting.duration import Machine, step_seconds
from headstart.models.accounting.machine import measure_machine, synchronise
from headstart.models.accounting.memory import model_memory
from headstart.models.accounting.operations import model_work
from headstart.models.accounting.step import StepShape
from headstart.models.config import TrunkConfig
from headstart.objectives.batch import Batch
from headstart.objectives.causal import Causal
from headstart.objectives.vocabulary_loss.chunked import summed_loss
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.vocabulary_head import use_rows
from headstart.training.allocator import keep_freed_memory, return_freed_memory
from headstart.training.config import PlanConfig
from headstart.training.loop import Trainer, TrainingState
from headstart.training.optimiser import Optimiser
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
        OURS: partial(our_step, shape, device),
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


def our_step(shape: Shape, device: str) -> Step:
    """Returns the step that `pretrain` does, on rows of drawn pieces."""
    recipe = shape.recipe()
    model = new_model(recipe.model)
    initialise(model, SEED)
    model.to(device)
    state = TrainingState(
        model, Optimiser(model, use_rows(model, recipe, device), recipe.learning), None
    )
    plan = PlanConfig(
        num_steps=1_000_000,
        seed=SEED,
        device=device,
        num_threads=torch.get_num_threads(),
        precision="fp32" if device == "cpu" else "bf16",
        is_compiled=False,
        is_deterministic=False,
        steps_between_validations=1_000_000,
        steps_between_logs=1_000_000,
    )
    batch = drawn_batch(shape, device)
    trainer = Trainer(
        Causal(summed_loss), recipe.learning, plan, lambda _: [batch], lambda *_: False
    )
    judged = trainer.judged(state)
    return lambda: trainer.do_step(state, judged, [batch])


def drawn_batch(shape: Shape, device: str) -> Batch:
    """Returns rows of pieces as uneven as those of a text, each to be told from those before."""
    torch.manual_seed(SEED)
    chances = 1 / torch.arange(1.0, shape.vocabulary + 1)
    rows = torch.multinomial(chances, shape.batch * (shape.length + 1), replacement=True)
    rows = rows.view(shape.batch, shape.length + 1).to(device)
    return Batch(
        text=Text(rows[:, :-1].contiguous()),
        answered_M=torch.arange(shape.num_tokens, device=device),
        target_M=rows[:, 1:].flatten(),
        first_P=None,
        follows_P=None,
        names=("drawn",),
    )


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


def timed(step: Step, device: str) -> float:
    """Does a step and returns its seconds."""
    synchronise(device)
    started_at = time.perf_counter()
    step()
    synchronise(device)
    return time.perf_counter() - started_at
