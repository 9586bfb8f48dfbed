"""Recorded steps against steps that are launched one by one."""

from dataclasses import replace

import pytest
import torch
from plain_plans import plain_plan

from headstart.errors import DivergedError
from headstart.models.dropout import Dropout
from headstart.models.inputs import Text
from headstart.objectives.batch import to_batch
from headstart.objectives.labels import to_label_batch
from headstart.objectives.objective import StepRows
from headstart.training.config import LearningConfig
from headstart.training.loop import Trainer, TrainingState, Unattended
from headstart.training.optimiser import Optimiser
from headstart.training.recorded import key_of, tensors_of, with_tensors

PLAN = plain_plan(14, seed=3, device="cuda")
LEARNING = LearningConfig(peak_rate=0.01, warm_up_share=0.25, weight_decay=0.2, max_norm=0.5)
STEP = StepRows(length=24, sequences=4, seed=1)
NAMES = ["a", "b"]


def batch_of(*rows: list[int], weights: list[float] | None = None):
    return to_label_batch([[row] for row in rows], [0, 1], NAMES, "cpu", weights)


def test_batches_of_one_shape_have_one_key_and_others_another():
    key = key_of(batch_of([1, 2, 3], [4, 5]))
    assert key == key_of(batch_of([7, 7, 7], [9, 9]))
    assert key != key_of(batch_of([1, 2, 3, 4], [4, 5]))
    # Without padding there is no mask, and so another step.
    assert key != key_of(batch_of([1, 2, 3], [4, 5, 6]))


def test_what_each_answer_counts_is_no_part_of_a_recording_but_the_sum_is():
    batch, other, more = (
        batch_of([1, 2], [3, 4], weights=weights)
        for weights in ([1.0, 3.0], [3.0, 1.0], [3.0, 3.0])
    )
    assert key_of(batch) == key_of(other)
    assert key_of(batch) != key_of(more)
    played = with_tensors(batch, tensors_of(other))
    assert played.weights.weight_N.tolist() == [3.0, 1.0]


def test_a_batch_with_other_tensors_is_that_batch_otherwise():
    batch = batch_of([1, 2, 3], [4, 5])
    doubled = with_tensors(batch, iter([2 * tensor.long() for tensor in tensors_of(batch)]))
    assert isinstance(doubled.text, Text)
    assert torch.equal(doubled.text.tokens_BT, 2 * batch.text.tokens_BT)
    assert torch.equal(doubled.target_N, 2 * batch.target_N)
    assert doubled.names == batch.names
    assert doubled.share_NB is None
    assert [tensor.shape for tensor in tensors_of(doubled)] == [
        tensor.shape for tensor in tensors_of(batch)
    ]


def test_only_a_gpu_records_and_not_where_bits_count():
    assert PLAN.can_record
    assert not replace(PLAN, device="cpu").can_record
    assert not replace(PLAN, is_deterministic=True).can_record


class Learned:
    """A toy that learns on a GPU for a few steps."""

    def __init__(self, toy, name: str, *, is_recorded: bool, runs_ahead=False) -> None:
        objective, model = toy.objective(name), toy.model(name).cuda()
        for module in model.modules():
            if isinstance(module, Dropout):
                module.share = 0.2
        stream = objective.training_rows(toy.store(toy.documents(60)), STEP)
        self.reports = []
        self.state = TrainingState(model, Optimiser(model, set(), LEARNING), None)
        self.trainer = Trainer(
            objective,
            LEARNING,
            PLAN,
            lambda step: [to_batch(stream.at(step), "cuda")],
            lambda _state, report: bool(self.reports.append(report)),
            is_always_alike=is_recorded,
            unattended=Unattended(attends=lambda _: False, note=self.reports.append)
            if runs_ahead
            else None,
        )

    def weights(self):
        return {name: each.detach().clone() for name, each in self.state.model.named_parameters()}


@pytest.mark.gpu
@pytest.mark.parametrize("runs_ahead", [False, True])
@pytest.mark.parametrize("name", ["causal", "masked", "masked+next"])
def test_recorded_steps_learn_what_steps_one_by_one_do(toy, name, runs_ahead):
    one = Learned(toy, name, is_recorded=True, runs_ahead=runs_ahead)
    other = Learned(toy, name, is_recorded=False)
    for each in (one, other):
        each.trainer.run(each.state)
    for report, expected in zip(one.reports, other.reports, strict=True):
        assert report.loss == pytest.approx(expected.loss, rel=1e-4)
        assert report.norm == pytest.approx(expected.norm, rel=1e-3)
        assert report.rate == expected.rate
    for weights, expected in zip(one.weights().values(), other.weights().values(), strict=True):
        torch.testing.assert_close(weights, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.gpu
def test_steps_are_recorded_once_they_are_known(toy):
    learned = Learned(toy, "masked", is_recorded=True)
    judged = learned.trainer.judged(learned.state)
    calls = []
    learned.state.model.trunk.register_forward_pre_hook(lambda *_: calls.append(1))
    for step in range(10):
        learned.trainer.do_step(learned.state, judged, learned.trainer.batches(step))
    # Two as usual and one that is recorded, for each of at most two shapes: with a mask or without.
    assert len(calls) <= 6


@pytest.mark.gpu
def test_steps_that_cannot_be_recorded_are_done_one_by_one(toy):
    def look(_trunk, _text, hidden):
        hidden.sum().item()

    one = Learned(toy, "masked", is_recorded=True)
    other = Learned(toy, "masked", is_recorded=False)
    # Nothing can be looked at while a step is recorded.
    one.state.model.trunk.register_forward_hook(look)
    for each in (one, other):
        each.trainer.run(each.state)
    for name, weights in one.weights().items():
        torch.testing.assert_close(weights, other.weights()[name], rtol=1e-3, atol=1e-4)


@pytest.mark.gpu
@pytest.mark.parametrize("runs_ahead", [False, True])
def test_other_weights_learn_once_they_are_thawed(toy, runs_ahead):
    def thaw_later(state):
        for name, weights in state.model.named_parameters():
            weights.requires_grad_(requires_grad=state.step >= 6 or "layers.0" not in name)

    one = Learned(toy, "causal", is_recorded=True, runs_ahead=runs_ahead)
    other = Learned(toy, "causal", is_recorded=False)
    first = one.weights()
    for each in (one, other):
        replace(each.trainer, before_step=thaw_later).run(each.state)
    for name, weights in one.weights().items():
        torch.testing.assert_close(weights, other.weights()[name], rtol=1e-3, atol=1e-4)
        assert not torch.equal(weights, first[name]), name


@pytest.mark.gpu
@pytest.mark.parametrize("runs_ahead", [False, True])
@pytest.mark.parametrize("last_good", [1, 7])
def test_a_recorded_step_that_is_no_number_moves_nothing(toy, last_good, runs_ahead):
    learned = Learned(toy, "masked", is_recorded=True, runs_ahead=runs_ahead)
    batches, kept = learned.trainer.batches, {}

    def spoiled(step):
        if step == last_good:
            with torch.no_grad():
                next(learned.state.model.parameters())[:] = torch.nan
            kept.update(learned.weights())
        return batches(step)

    with pytest.raises(DivergedError):
        replace(learned.trainer, batches=spoiled).run(learned.state)
    assert learned.state.step == last_good
    for name, weights in learned.weights().items():
        assert torch.equal(weights.nan_to_num(), kept[name].nan_to_num()), name
