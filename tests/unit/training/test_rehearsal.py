"""Real steps on made-up text: every kind of head learns, and a frozen trunk does not move."""

import dataclasses
import math
import sys

import pytest
import torch

from headstart.apps.recipes import RECIPES
from headstart.apps.recipes.compact import compact
from headstart.models.accounting.duration import Machine
from headstart.models.accounting.step import StepShape
from headstart.models.config import EncoderDecoderConfig
from headstart.pipeline.recipe import model_for, with_vocabulary
from headstart.training import rehearsal as module
from headstart.training.rehearsal import (
    NUM_TIMED_STEPS,
    NUM_WARM_STEPS,
    WARM_UP_MODEL,
    WARM_UP_STEP,
    Rehearsal,
    made_up_batch,
    made_up_loss,
    memory_counts,
    rehearse_memory,
    rehearse_time,
    typical,
)

VOCABULARY_SIZE, SEED = 50, 3
STEP = StepShape(length=12, sequences=3)
FROZEN_STEP = dataclasses.replace(STEP, is_frozen=True)
SEEN = Machine(name="a desk", matrix_rate=1e11, pass_rate=5e9, memory_bytes=None)


def shrunk(name: str):
    new = compact("causal") if name == "compact causal" else RECIPES[name]()
    return with_vocabulary(new, VOCABULARY_SIZE)


PRETRAINING = {name: shrunk(name).model for name in ("lab", "bert", "compact", "base")}
CLASSIFICATION = {
    f"{name} classifier": model_for(shrunk(name), "classification", num_labels=3)
    for name in ("lab", "bert", "compact", "compact causal")
}


def every(cases):
    return pytest.mark.parametrize("config", cases.values(), ids=cases)


def copied(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: weights.detach().clone() for name, weights in module.named_parameters()}


def changed(before: dict[str, torch.Tensor], module: torch.nn.Module) -> set[str]:
    return {
        name
        for name, weights in module.named_parameters()
        if not torch.equal(before[name], weights)
    }


@every(PRETRAINING | CLASSIFICATION)
def test_every_kind_of_head_has_a_finite_loss_before_and_after_a_step(config):
    rehearsal = Rehearsal(config, STEP, "cpu", SEED)
    for _ in range(2):
        assert made_up_loss(rehearsal.model, rehearsal.batch).isfinite()
        rehearsal.do_step()


@every(PRETRAINING | CLASSIFICATION)
def test_a_step_moves_the_trunk_and_the_head(config):
    rehearsal = Rehearsal(config, STEP, "cpu", SEED)
    trunk, head = copied(rehearsal.model.trunk), copied(rehearsal.model.head)
    rehearsal.do_step()
    assert changed(trunk, rehearsal.model.trunk)
    assert changed(head, rehearsal.model.head) == set(head)


@every(PRETRAINING | CLASSIFICATION)
def test_a_step_leaves_finite_weights_and_no_gradients(config):
    rehearsal = Rehearsal(config, STEP, "cpu", SEED)
    rehearsal.do_step()
    for weights in rehearsal.model.parameters():
        assert weights.isfinite().all()
        assert weights.grad is None


@every(CLASSIFICATION | {"lab": PRETRAINING["lab"]})
def test_a_step_on_a_frozen_trunk_changes_the_head_and_not_one_bit_of_the_trunk(config):
    rehearsal = Rehearsal(config, FROZEN_STEP, "cpu", SEED)
    trunk, head = copied(rehearsal.model.trunk), copied(rehearsal.model.head)
    for _ in range(3):
        rehearsal.do_step()
    assert not changed(trunk, rehearsal.model.trunk)
    assert changed(head, rehearsal.model.head) == set(head)


def test_a_step_on_a_frozen_trunk_leaves_a_tied_matrix_where_it_is():
    rehearsal = Rehearsal(PRETRAINING["bert"], FROZEN_STEP, "cpu", SEED)
    trunk = copied(rehearsal.model.trunk)
    rehearsal.do_step()
    assert not changed(trunk, rehearsal.model.trunk)


def test_a_step_takes_time():
    assert Rehearsal(WARM_UP_MODEL, WARM_UP_STEP, "cpu", SEED).do_step() > 0


@every(PRETRAINING | CLASSIFICATION)
def test_a_batch_has_the_shape_of_its_step(config):
    batch = made_up_batch(config, STEP, "cpu", SEED)
    assert batch.text.tokens_BT.shape == (STEP.sequences, STEP.length)
    assert isinstance(config.trunk, EncoderDecoderConfig) == hasattr(batch.inputs, "target")
    assert batch.text_targets_B.shape == (STEP.sequences,)


@pytest.mark.parametrize("share", [0.15, 0.5, 1.0])
def test_about_the_answered_share_of_positions_is_answered(share):
    step = StepShape(length=100, sequences=50, answered_share=share)
    batch = made_up_batch(PRETRAINING["compact"], step, "cpu", SEED)
    assert batch.is_answered_BT.float().mean().item() == pytest.approx(share, abs=0.03)
    assert len(batch.piece_targets_M) == batch.is_answered_BT.sum()


def test_the_same_seed_draws_the_same_batch_and_another_one_another():
    first, second, other = (
        made_up_batch(PRETRAINING["lab"], STEP, "cpu", seed).text.tokens_BT for seed in (1, 1, 2)
    )
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


def test_the_time_is_the_median_of_the_timed_steps_and_each_is_reported(monkeypatch):
    durations = iter([100.0] * NUM_WARM_STEPS + [5.0, 1.0, 2.0, 3.0, 90.0])
    monkeypatch.setattr(Rehearsal, "do_step", lambda _self: next(durations))
    monkeypatch.setattr(module, "measure_machine", lambda *_, **__: SEEN)
    reports = []
    timed = rehearse_time(WARM_UP_MODEL, WARM_UP_STEP, "cpu", SEED, lambda: reports.append(1))
    assert timed.step_seconds == 3.0
    assert timed.machine == SEEN
    assert len(reports) == NUM_WARM_STEPS + NUM_TIMED_STEPS


def test_a_typical_machine_has_the_median_of_each_rate():
    machines = [
        dataclasses.replace(SEEN, matrix_rate=matrix_rate, pass_rate=pass_rate)
        for matrix_rate, pass_rate in ((1.0, 30.0), (3.0, 10.0), (2.0, 20.0))
    ]
    assert typical(machines) == dataclasses.replace(SEEN, matrix_rate=2.0, pass_rate=20.0)


@pytest.mark.skipif(sys.platform == "win32", reason="no one counts there")
def test_the_peak_is_between_a_megabyte_and_a_terabyte():
    assert 1 << 20 < memory_counts("cpu").peak < 1 << 40


def test_the_peak_never_falls():
    first, second = memory_counts("cpu").peak, memory_counts("cpu").peak
    assert first is None or second >= first


def test_where_no_one_counts_memory_nothing_is_made_up(monkeypatch):
    monkeypatch.setattr(module, "memory_counts", lambda _device: None)
    # How this process returns memory is not this test's to change.
    monkeypatch.setattr(module, "return_freed_memory", lambda: None)
    assert rehearse_memory(WARM_UP_MODEL, WARM_UP_STEP, "cpu", SEED) is None


def test_the_loss_of_a_new_head_is_near_that_of_guessing():
    rehearsal = Rehearsal(CLASSIFICATION["compact classifier"], STEP, "cpu", SEED)
    loss = made_up_loss(rehearsal.model, rehearsal.batch).item()
    assert loss == pytest.approx(math.log(3), abs=0.3)
