"""Steps that nobody attends are read one step later, and nothing else becomes different."""

from dataclasses import replace

import pytest
import torch
from plain_plans import plain_plan

from headstart.errors import DivergedError
from headstart.objectives.batch import to_batch
from headstart.objectives.objective import StepRows
from headstart.training.averaging import AveragedWeights
from headstart.training.config import LearningConfig
from headstart.training.late_values import LateValues
from headstart.training.loop import Trainer, TrainingState, Unattended
from headstart.training.optimiser import Optimiser

PLAN = plain_plan(9, seed=3)
LEARNING = LearningConfig(peak_rate=0.01, warm_up_share=0.25, weight_decay=0.2, max_norm=0.5)
STEP = StepRows(length=24, sequences=4, seed=1)
ATTENDED = {3, 4, 8}

pytestmark = pytest.mark.usefixtures("recorded_on_a_processor")


class Learned:
    """A toy that learns, and what was told of it in which order."""

    def __init__(self, toy, *, attended=ATTENDED, learning=LEARNING) -> None:
        objective, model = toy.objective("causal"), toy.model("causal")
        stream = objective.training_rows(toy.store(toy.documents(60)), STEP)
        self.told, self.reports, self.weights = [], [], {}
        self.state = TrainingState(model, Optimiser(model, set(), learning), None)

        def batches(step):
            self.told.append(("launch", step + 1))
            return [to_batch(rows, "cpu") for rows in stream.at(step).split(learning.accumulation)]

        unattended = Unattended(attends=attended.__contains__, note=self.note)
        self.trainer = Trainer(
            objective, learning, PLAN, batches, self.after_step, unattended=unattended
        )

    def after_step(self, state, report):
        assert state.step == report.step
        self.told.append(("after", report.step))
        self.reports.append(report)
        self.weights[report.step] = self.weights_now()
        return False

    def note(self, report):
        self.told.append(("note", report.step))
        self.reports.append(report)

    def weights_now(self):
        return {name: each.detach().clone() for name, each in self.state.model.named_parameters()}


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, weights in one.items():
        assert torch.equal(weights, other[name]), name


def test_what_nobody_attends_is_read_once_the_next_step_is_launched(toy):
    learned = Learned(toy)
    learned.trainer.run(learned.state)
    assert learned.told == [
        ("launch", 1),
        ("launch", 2),
        ("note", 1),
        ("launch", 3),
        ("note", 2),
        ("after", 3),
        ("launch", 4),
        ("after", 4),
        ("launch", 5),
        ("launch", 6),
        ("note", 5),
        ("launch", 7),
        ("note", 6),
        ("launch", 8),
        ("note", 7),
        ("after", 8),
        ("launch", 9),
        ("after", 9),
    ]


def test_reports_and_weights_are_those_of_steps_read_one_by_one(toy):
    ahead, plain = Learned(toy), Learned(toy)
    ahead.trainer.run(ahead.state)
    replace(plain.trainer, unattended=None).run(plain.state)
    assert ahead.reports == plain.reports
    for step in (*ATTENDED, PLAN.num_steps):
        assert_same(ahead.weights[step], plain.weights[step])


@pytest.mark.parametrize("bad", [2, 3, 5, 7])
def test_a_step_that_is_no_number_leaves_all_as_before_it_though_another_was_launched(toy, bad):
    plain = Learned(toy)
    replace(plain.trainer, unattended=None).run(plain.state)
    learned = Learned(toy)
    batches, backward_part = learned.trainer.batches, Trainer.backward_part
    is_spoiled = []

    def spoiled(step):
        is_spoiled.append(step + 1 == bad)
        return batches(step)

    class Spoiled(Trainer):
        def backward_part(self, judged, batch, counts):
            found = backward_part(self, judged, batch, counts)
            return {
                name: value * torch.nan if is_spoiled[-1] else value
                for name, value in found.items()
            }

    trainer = Spoiled(**{**vars(learned.trainer), "batches": spoiled})
    with pytest.raises(DivergedError, match=rf"^In step {bad} the .* became nan"):
        trainer.run(learned.state)
    assert learned.state.step == bad - 1
    assert_same(learned.weights_now(), plain.weights[bad - 1])
    # The state is sound: it goes on as if that step had never been.
    learned.trainer.run(learned.state)
    assert_same(learned.weights_now(), plain.weights[PLAN.num_steps])


@pytest.mark.parametrize("why", ["parts", "average", "nobody told"])
def test_other_steps_are_read_at_once(toy, why):
    learning = replace(LEARNING, accumulation=2) if why == "parts" else LEARNING
    learned = Learned(toy, learning=learning)
    if why == "average":
        learned.state.average = AveragedWeights(learned.state.model, 0.5)
    trainer = learned.trainer if why != "nobody told" else replace(learned.trainer, unattended=None)
    trainer.run(learned.state)
    steps = range(1, PLAN.num_steps + 1)
    assert learned.told == [(what, step) for step in steps for what in ("launch", "after")]


def test_values_that_were_copied_stay_what_they_were():
    place = torch.tensor([1.0, 2.0])
    late = LateValues(place)
    place[:] = 7.0
    assert late.read() == [1.0, 2.0]


@pytest.mark.gpu
def test_values_come_from_a_gpu_as_they_were():
    place = torch.tensor([1.0, 2.0], device="cuda")
    late = LateValues(place)
    place[:] = 7.0
    assert late.read() == [1.0, 2.0]
