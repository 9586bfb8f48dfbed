"""The loop: steps over an objective until the plan ends. It knows no file and no screen."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from headstart.errors import DivergedError
from headstart.models.model import Model
from headstart.objectives.objective import Judge, StepBatch
from headstart.randomness import derive_seed
from headstart.training.averaging import AveragedWeights
from headstart.training.clipping import clip_gradients
from headstart.training.config import LearningConfig, PlanConfig
from headstart.training.late_values import LateValues
from headstart.training.optimiser import Optimiser
from headstart.training.precision import products_in
from headstart.training.recorded import RecordedSteps
from headstart.training.schedule import learning_rate

NORM = "norm of the gradient"


@dataclass
class TrainingState:
    """Everything that a run is between two steps; all else is a function of seed and step."""

    model: Model[Any, Any]
    optimiser: Optimiser
    average: AveragedWeights | None
    step: int = 0
    """The steps that are done."""


@dataclass(frozen=True, kw_only=True)
class StepReport:
    """What one step did."""

    step: int
    """The number of the step, from 1."""
    parts: Mapping[str, float]
    """Each part of the loss, a mean over its answers."""
    rate: float
    norm: float
    num_tokens: int

    @property
    def loss(self) -> float:
        """The loss that was minimised: the sum of its parts."""
        return sum(self.parts.values())


# Called after each step; says whether to stop there.
AfterStep = Callable[[TrainingState, StepReport], bool]


@dataclass(frozen=True, kw_only=True)
class Unattended:
    """Steps after which nobody looks at the state, so that a GPU need not wait for their reports.

    The next step is launched before the values of such a one are read.
    """

    attends: Callable[[int], bool]
    """Whether someone will look at the state after a step, or stop there."""
    note: Callable[[StepReport], None]
    """Takes in the report of a step that nobody attends, once the next one is launched."""


# Where steps are only done.
NOBODY = Unattended(attends=lambda _step: False, note=lambda _report: None)


@dataclass(frozen=True, kw_only=True)
class Launched:
    """A step that is under way, or done."""

    step: int
    """The number of the step, from 1."""
    rate: float
    batches: Sequence[StepBatch]
    names: Sequence[str]
    read: Callable[[], list[float]]
    """Waits for the values, in the order of their names."""


# Called before each step, to set which weights learn in it.
BeforeStep = Callable[[TrainingState], None]


def leave_as_it_is(_state: TrainingState) -> None:
    """Lets every weight learn that the optimiser knows."""


class LossOfBatch(nn.Module):
    """An objective and a model as one module whose forward is the loss, as wrappers want it."""

    def __init__(self, objective: Judge, model: Model[Any, Any]) -> None:
        super().__init__()
        self.objective = objective
        self.model = model
        self.recorded: RecordedSteps | None = None
        """Steps that are launched as a whole, where the device can do that."""

    @property
    def num_played(self) -> int:
        """The steps that were launched as a whole so far."""
        return 0 if self.recorded is None else self.recorded.num_played

    @property
    def may_be_played(self) -> bool:
        """Whether steps are launched as a whole once they are recorded."""
        return self.recorded is not None and self.recorded.is_able

    def forward(self, batch: StepBatch) -> Mapping[str, Tensor]:
        """Returns each part of the loss, summed."""
        return self.objective.loss(self.model, batch)


@dataclass(frozen=True)
class Trainer:
    """Runs an objective until its plan ends, or until something after a step says stop."""

    objective: Judge
    learning: LearningConfig
    plan: PlanConfig
    batches: Callable[[int], Sequence[StepBatch]]
    """The parts of each step."""
    after_step: AfterStep
    before_step: BeforeStep = leave_as_it_is
    is_always_alike: bool = True
    """Whether steps of one shape do the same work, so that a GPU may record them."""
    unattended: Unattended | None = None
    """Which steps a GPU may leave behind unread; without it, none."""

    def run(self, state: TrainingState) -> None:
        """Does the steps that are left."""
        judged = self.judged(state)
        if self.runs_ahead(state, judged):
            self.run_ahead(state, judged)
            return
        while state.step < self.plan.num_steps:
            report = self.do_step(state, judged, self.batches(state.step))
            if self.after_step(state, report):
                return

    def runs_ahead(self, state: TrainingState, judged: LossOfBatch) -> bool:
        """Whether a step may be launched before the values of the last one are read."""
        # An average would follow weights that a step has not moved.
        is_whole = state.average is None and self.learning.accumulation == 1
        return self.unattended is not None and judged.recorded is not None and is_whole

    def run_ahead(self, state: TrainingState, judged: LossOfBatch) -> None:
        """Does the steps that are left, reading what nobody attends one step later."""
        assert self.unattended is not None
        late: Launched | None = None
        while state.step < self.plan.num_steps:
            now = self.advance(state, judged, late)
            is_last = state.step == self.plan.num_steps
            late = None if is_last or self.unattended.attends(state.step) else now
            if late is None and self.after_step(state, self.report(state, now)):
                return

    def advance(self, state: TrainingState, judged: LossOfBatch, late: Launched | None) -> Launched:
        """Launches a step, and takes in the one before it where that is still unread."""
        now = self.launch(state, judged, self.batches(state.step))
        if late is not None:
            assert self.unattended is not None
            self.unattended.note(self.report(state, late))
        return now

    def judged(self, state: TrainingState) -> LossOfBatch:
        """Returns the state's model in training, as one module with the objective."""
        state.model.train()
        judged = LossOfBatch(self.objective, state.model)
        is_alike = self.is_always_alike and self.learning.accumulation == 1
        if is_alike and self.plan.can_record and state.optimiser.can_be_recorded:
            # Of another module: one that held itself would hold the GPU's memory too.
            alike = LossOfBatch(self.objective, state.model)
            judged.recorded = RecordedSteps(
                lambda batch: self.learn_on_device(state, alike, batch),
                state.optimiser.forget_gradients,
                list(state.optimiser.parameters.values()),
            )
        return judged

    def do_step(
        self, state: TrainingState, judged: LossOfBatch, batches: Sequence[StepBatch]
    ) -> StepReport:
        """Does one step; a loss or gradient that is no number leaves the state as it was."""
        return self.report(state, self.launch(state, judged, batches))

    def launch(
        self, state: TrainingState, judged: LossOfBatch, batches: Sequence[StepBatch]
    ) -> Launched:
        """Begins a step, which on a GPU goes on by itself from here."""
        self.before_step(state)
        rate = learning_rate(state.step, self.plan.num_steps, self.learning)
        read = self.learn(state, judged, batches, rate)
        state.step += 1
        names = [*total_counts(batches), NORM]
        return Launched(step=state.step, rate=rate, batches=batches, names=names, read=read)

    def report(self, state: TrainingState, launched: Launched) -> StepReport:
        """Returns what a step did; where it was none, the state is that before it."""
        values = dict(zip(launched.names, launched.read(), strict=True))
        self.require_finite(state, launched, values)
        if state.average is not None:
            state.average.follow(state.model, launched.step)
        norm = values.pop(NORM)
        num_tokens = sum(batch.num_tokens for batch in launched.batches)
        return StepReport(
            step=launched.step, parts=values, rate=launched.rate, norm=norm, num_tokens=num_tokens
        )

    def learn(
        self, state: TrainingState, judged: LossOfBatch, batches: Sequence[StepBatch], rate: float
    ) -> Callable[[], list[float]]:
        """Moves the weights, unless a value is no number; returns what reads the values."""
        if judged.recorded is not None and len(batches) == 1:
            state.optimiser.set_rate(rate)
            self.seed_part(state.step, 0)
            return LateValues(judged.recorded.do(batches[0])).read
        value_V = self.values(state, self.backward(state.step, judged, batches))
        values: list[float] = value_V.tolist()
        if all(map(math.isfinite, values)):
            state.optimiser.step(rate)
        return lambda: values

    def learn_on_device(
        self, state: TrainingState, judged: LossOfBatch, batch: StepBatch
    ) -> Tensor:
        """Does the same without a look from outside, at the rate and from the seed set before."""
        counts = total_counts([batch])
        value_V = self.values(state, self.backward_part(judged, batch, counts))
        state.optimiser.move_if(value_V.isfinite().all())
        return value_V

    def backward(
        self, step: int, judged: LossOfBatch, batches: Sequence[StepBatch]
    ) -> Mapping[str, Tensor]:
        """Adds up the gradients of a step's parts, each weighed by its answers."""
        counts = total_counts(batches)
        sums: dict[str, Tensor] = {}
        for number, batch in enumerate(batches):
            self.seed_part(step, number)
            for name, part in self.backward_part(judged, batch, counts).items():
                sums[name] = sums[name] + part if name in sums else part
        return sums

    def seed_part(self, step: int, number: int) -> None:
        """Makes dropout and other draws a function of the step, so that nothing drawn is kept."""
        seed_draws(derive_seed(self.plan.seed, "step", step, number), self.plan.device)

    def backward_part(
        self, judged: LossOfBatch, batch: StepBatch, counts: Mapping[str, float]
    ) -> dict[str, Tensor]:
        """Adds the gradients of one part of a step; returns its share of the mean losses."""
        with products_in(self.plan.precision, self.plan.device):
            loss = judged(batch)
        means = {name: part / counts[name] for name, part in loss.items()}
        torch.autograd.backward(torch.stack(list(means.values())).sum())
        return {name: means[name].detach() for name in counts}

    def values(self, state: TrainingState, sums: Mapping[str, Tensor]) -> Tensor:
        """Returns the parts of the loss and the norm of the gradients, which are then cut to it."""
        norm = clip_gradients(list(state.optimiser.parameters.values()), self.learning.max_norm)
        return torch.stack([*(value.to(norm) for value in sums.values()), norm])

    def require_finite(
        self, state: TrainingState, launched: Launched, values: Mapping[str, float]
    ) -> None:
        """Raises an error for a value that is infinite or none, which has moved no weights."""
        for name, value in values.items():
            if not math.isfinite(value):
                # Nor has a step that was launched behind it.
                state.step = launched.step - 1
                state.optimiser.start_afresh()
                rows = [row for batch in launched.batches for row in batch.names]
                shown = "; ".join(rows[:3]) + (f"; and {len(rows) - 3:,} more" if rows[3:] else "")
                raise DivergedError(
                    f"In step {launched.step:,} the {name} became {value}. The step was not "
                    f"taken; it read {shown}. Look at that text, or choose a lower learning rate."
                )


def unattended_step(
    trainer: Trainer, state: TrainingState, judged: LossOfBatch
) -> Callable[[], None]:
    """Returns what does one step after another, as a run does between its looks."""
    runs_ahead = trainer.runs_ahead(state, judged)
    late: Launched | None = None

    def step() -> None:
        nonlocal late
        late = trainer.advance(state, judged, late)
        if not runs_ahead:
            trainer.report(state, late)
            late = None

    return step


def seed_draws(seed: int, device: str) -> None:
    """Seeds the draws of the processor and of a plan's device, and of no others.

    `torch.manual_seed` also leaves word for every kind of device that might come to be used, with a
    trace of the stack each: a millisecond, which is a whole step of a frozen transfer.
    """
    torch.default_generator.manual_seed(seed)
    if device.startswith("cuda"):
        torch.cuda.manual_seed(seed)


def total_counts(batches: Sequence[StepBatch]) -> Mapping[str, float]:
    """Returns how many answers of each kind a step asks for; 1 for none, to divide by."""
    names = batches[0].counts
    return {name: sum(batch.counts[name] for batch in batches) or 1 for name in names}
