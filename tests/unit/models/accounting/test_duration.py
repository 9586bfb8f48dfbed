"""Seconds from operations, bytes and rates: how they must move, and the described machine."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.apps.recipes import RECIPES
from headstart.apps.recipes.base import base
from headstart.apps.recipes.lab import lab
from headstart.models.accounting.duration import (
    PROCESSOR_COSTS,
    Machine,
    passed_bytes,
    step_seconds,
)
from headstart.models.accounting.operations import model_work
from headstart.models.accounting.step import StepShape
from headstart.pipeline.anatomy import project
from headstart.pipeline.this_machine import described_machine

STEP = StepShape(length=64, sequences=4)
MEASURED = Machine(name="a desk", matrix_rate=1e11, pass_rate=5e9, memory_bytes=8 << 30)
SECONDS_PER_DAY = 86_400

every_recipe = pytest.mark.parametrize("name", RECIPES)
rates = st.floats(1e6, 1e18)


def step_flops(config, step) -> float:
    return step.num_tokens * sum(part.total for part in model_work(config, step))


@every_recipe
def test_on_a_described_machine_a_step_is_its_operations_at_the_rate(name):
    config = RECIPES[name]().model
    seconds = step_seconds(config, STEP, described_machine(2.1, memory_gib=4))
    assert seconds == pytest.approx(step_flops(config, STEP) / 2.1e12, rel=1e-12)


@settings(deadline=None)
@given(slow=rates, factor=st.floats(1.01, 1e3))
def test_a_higher_matrix_rate_takes_less_time(slow, factor):
    machines = [replace(MEASURED, matrix_rate=rate) for rate in (slow, slow * factor)]
    first, second = (step_seconds(lab().model, STEP, machine) for machine in machines)
    assert second < first


@settings(deadline=None)
@given(slow=st.floats(1e6, 1e12), factor=st.floats(1.01, 1e3))
def test_a_higher_pass_rate_takes_less_time(slow, factor):
    machines = [replace(MEASURED, pass_rate=rate) for rate in (slow, slow * factor)]
    first, second = (step_seconds(lab().model, STEP, machine) for machine in machines)
    assert second < first


@every_recipe
def test_a_machine_that_must_also_pass_over_memory_takes_longer(name):
    config = RECIPES[name]().model
    products_alone = replace(MEASURED, pass_rate=None)
    assert step_seconds(config, STEP, MEASURED) > step_seconds(config, STEP, products_alone)


@every_recipe
def test_a_frozen_trunk_takes_less_time_and_passes_over_less_memory(name):
    config, frozen = RECIPES[name]().model, replace(STEP, is_frozen=True)
    assert step_seconds(config, frozen, MEASURED) < step_seconds(config, STEP, MEASURED)
    frozen_bytes, all_bytes = (
        passed_bytes(config, step, PROCESSOR_COSTS) for step in (frozen, STEP)
    )
    assert frozen_bytes < all_bytes


@settings(deadline=None)
@given(
    num_tokens=st.integers(1, 10**15),
    factor=st.integers(1, 1_000),
    name=st.sampled_from(list(RECIPES)),
)
def test_a_run_is_linear_in_its_tokens(num_tokens, factor, name):
    config = RECIPES[name]().model
    once = project(config, STEP, MEASURED, num_tokens)
    often = project(config, STEP, MEASURED, factor * num_tokens)
    assert often.seconds == pytest.approx(factor * once.seconds)
    assert often.step_seconds == once.step_seconds


def test_a_run_of_one_steps_tokens_takes_one_step():
    seen = project(lab().model, STEP, MEASURED, STEP.num_tokens)
    assert seen.seconds == pytest.approx(seen.step_seconds)


def test_without_tokens_there_is_no_duration_of_a_run():
    assert project(lab().model, STEP, MEASURED, None).seconds is None


@settings(deadline=None)
@given(sequences=st.integers(1, 1_000))
def test_on_a_described_machine_twice_the_sequences_take_twice_the_time(sequences):
    machine = described_machine(1.0, None)
    once = step_seconds(lab().model, replace(STEP, sequences=sequences), machine)
    twice = step_seconds(lab().model, replace(STEP, sequences=2 * sequences), machine)
    assert twice == pytest.approx(2 * once)


def test_a_gtx_1050_ti_trains_the_base_model_in_parts_within_a_week():
    recipe, machine = base(), described_machine(2.1, memory_gib=4)
    step = StepShape(length=recipe.length, sequences=recipe.sequences_per_step)
    # 100,000 steps of 25,000 pieces a side: what took 8 GPUs 12 hours.
    seen = project(recipe.model, step, machine, 2_500_000_000)
    assert seen.seconds == pytest.approx(100_000 * step_flops(recipe.model, step) / 2.1e12)
    assert 5 < seen.seconds / SECONDS_PER_DAY < 7
    assert seen.fit == "in parts"
    assert 0 < seen.most_sequences < recipe.sequences_per_step


def test_a_described_machine_is_known_by_its_rate_and_its_memory_alone():
    machine = described_machine(2.1, memory_gib=4)
    assert machine.matrix_rate == 2.1e12
    assert machine.memory_bytes == 4 * 1024**3
    assert machine.pass_rate is None
    assert "2.1 TFLOP/s" in machine.name
    assert "4 GiB" in machine.name


def test_a_machine_of_unknown_memory_is_not_said_to_fit_anything():
    seen = project(lab().model, STEP, described_machine(2.1, None), None)
    assert seen.most_sequences is None
    assert seen.fit is None
