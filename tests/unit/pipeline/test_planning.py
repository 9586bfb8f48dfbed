"""A budget becomes steps: given, counted from tokens, or measured."""

import itertools
from dataclasses import replace

import pytest
import torch

from headstart.errors import RecipeError
from headstart.pipeline import planning, trial
from headstart.pipeline.language_learner import num_validation_tokens
from headstart.pipeline.planning import (
    TOKENS_LEARNED_PER_LOOKED,
    Budget,
    Place,
    best_precision,
    first_plan,
    measured_plan,
    num_steps_in,
)

PLACE = Place(device="cpu", num_threads=1, seed=5)


@pytest.mark.parametrize(
    "given",
    [
        {"minutes": 1.0, "num_steps": 5},
        {"minutes": 1.0, "num_tokens": 5},
        {"num_tokens": 1, "num_steps": 5},
        {"minutes": 1.0, "num_tokens": 5, "num_steps": 5},
    ],
)
def test_a_budget_given_twice_is_refused(given):
    with pytest.raises(RecipeError, match="given twice"):
        Budget(**given)


def test_without_a_budget_a_run_takes_ten_minutes():
    assert Budget().minutes_or_default == 10
    assert Budget(minutes=3).minutes_or_default == 3
    assert Budget(num_steps=3).minutes_or_default is None
    assert Budget(num_tokens=3).minutes_or_default is None


@pytest.mark.parametrize(("num_tokens", "num_steps"), [(192, 1), (1_920, 10), (2_000, 10), (1, 1)])
def test_tokens_are_as_many_whole_steps_as_they_fill_but_at_least_one(toy, num_tokens, num_steps):
    recipe = toy.recipe("causal")  # 4 sequences of 48
    plan = first_plan(Budget(num_tokens=num_tokens), PLACE, recipe)
    assert plan.num_steps == num_steps


def test_steps_are_taken_as_given_with_ten_looks_and_a_thousand_lines(toy):
    plan = first_plan(Budget(num_steps=50_000), PLACE, toy.recipe("causal"))
    assert plan.num_steps == 50_000
    assert plan.steps_between_validations == 5_000
    assert plan.steps_between_logs == 50
    assert (plan.seed, plan.device, plan.num_threads) == (5, "cpu", 1)
    assert plan.precision == best_precision("cpu")


@pytest.mark.parametrize(
    ("known", "precision"),
    [
        ({}, "fp32"),
        ({"avx512_bf16": False, "amx_bf16": False, "avx512_f": True}, "fp32"),
        ({"avx512_bf16": True, "amx_bf16": False}, "bf16"),
        ({"avx512_bf16": False, "amx_bf16": True}, "bf16"),
    ],
)
def test_a_processor_multiplies_in_half_precision_where_it_is_made_for_it(
    monkeypatch, known, precision
):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: known, raising=False)
    assert best_precision("cpu") == precision


def test_a_pytorch_that_cannot_say_what_a_processor_knows_stays_in_single_precision(monkeypatch):
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert best_precision("cpu") == "fp32"


@pytest.mark.parametrize("num_steps", [1, 3, 900, 5_000])
def test_a_short_run_looks_seldom_but_at_its_end_at_least(toy, num_steps):
    recipe = toy.recipe("causal")
    plan = first_plan(Budget(num_steps=num_steps), PLACE, recipe)
    assert 1 <= plan.steps_between_validations <= num_steps
    num_looked = num_validation_tokens("cpu") * (num_steps // plan.steps_between_validations)
    num_learned = num_steps * recipe.tokens_per_step
    is_at_its_end_only = plan.steps_between_validations == num_steps
    assert is_at_its_end_only or num_learned >= TOKENS_LEARNED_PER_LOOKED * num_looked


PLAYED_SECONDS = 0.015625


class Clock:
    """A clock that moves only where something is said to take time."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


class FakeLearner:
    """Takes so many seconds for a step, for the first one more, and for a look."""

    def __init__(self, clock, step_seconds, first_seconds=0.0, validation_seconds=0.0) -> None:
        self.clock, self.validation_seconds = clock, validation_seconds
        self.seconds = itertools.chain(
            [step_seconds + first_seconds, step_seconds], itertools.repeat(step_seconds)
        )
        self.num_steps = 0
        self.num_played = 0
        self.num_looks = 0
        self.may_be_played = False

    def new_state(self):
        return None

    def trainer(self, _after_step, _unattended):
        return self

    def runs_ahead(self, _state, _judged) -> bool:
        return False

    def judged(self, _state):
        return self

    def batches(self, _step):
        return []

    def report(self, _state, _launched) -> None:
        return None

    def advance(self, _state, _judged, _late) -> None:
        self.num_steps += 1
        seconds = next(self.seconds)
        self.clock.now += seconds
        self.num_played += seconds == PLAYED_SECONDS

    def validate(self, _state) -> None:
        self.num_looks += 1
        self.clock.now += self.validation_seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(trial, "time", made)
    return made


def test_minutes_are_the_steps_that_fit_once_looks_are_paid_for(clock):
    learner = FakeLearner(clock, step_seconds=0.5, validation_seconds=3.0)
    assert num_steps_in(600, learner) == (600 - 10 * 3) / 0.5


def test_what_the_first_step_takes_longer_is_not_taken_off_the_run_that_finds_it_done(clock):
    learner = FakeLearner(clock, step_seconds=0.5, first_seconds=40.0)
    assert num_steps_in(600, learner) == 600 / 0.5


def test_steps_that_become_faster_are_waited_for_however_long_the_first_took(clock):
    learner = FakeLearner(clock, step_seconds=0.1)
    learner.seconds = itertools.chain([40.0, 30.0], [0.3] * 6, itertools.repeat(0.1))
    assert num_steps_in(600, learner) == 6_000


def test_steps_that_were_played_from_a_recording_are_what_most_steps_will_be(clock):
    learner = FakeLearner(clock, step_seconds=0.1)
    few_played = [0.1, 0.1, *[0.2, 0.2, PLAYED_SECONDS] * 20]
    learner.seconds = iter(few_played)
    assert num_steps_in(600, learner) == int(600 / PLAYED_SECONDS)


def test_a_short_budget_waits_until_what_is_being_recorded_is_played(clock):
    learner = FakeLearner(clock, step_seconds=0.1)
    learner.may_be_played = True
    learner.seconds = itertools.chain([0.1, 0.1, 0.3, 2.5], itertools.repeat(PLAYED_SECONDS))
    assert num_steps_in(22.5, learner) == int(22.5 / PLAYED_SECONDS)


def test_a_long_budget_waits_for_what_is_being_recorded_too(clock):
    learner = FakeLearner(clock, step_seconds=0.1)
    learner.may_be_played = True
    learner.seconds = itertools.chain(
        [0.1, 0.1, 0.3, 2.5, 0.3, 0.3, 0.3], itertools.repeat(PLAYED_SECONDS)
    )
    assert num_steps_in(600, learner) == int(600 / PLAYED_SECONDS)


def test_what_could_be_recorded_and_never_is_does_not_keep_a_run_waiting(clock):
    learner = FakeLearner(clock, step_seconds=0.5)
    learner.may_be_played = True
    assert num_steps_in(600, learner) == 1_200
    num_waited = trial.RECORDED_TIMES * trial.SECONDS_MEASURED / 0.5
    assert learner.num_steps <= trial.NUM_WARM_STEPS + num_waited + 1


def test_steps_that_compile_count_for_nothing_whenever_they_come(clock, monkeypatch):
    learner = FakeLearner(clock, step_seconds=0.5)
    learner.seconds = iter([40.0, 30.0, 20.0, 0.5, 15.0, *[0.5] * 20])
    compiled = iter([0, 1, 1, 2, 2, 2, 2, 3, *[3] * 80])
    monkeypatch.setattr(trial, "num_compiled", lambda: next(compiled))
    assert num_steps_in(600, learner) == 1_200


def test_what_compiles_in_every_step_is_given_up_on(clock, monkeypatch):
    learner = FakeLearner(clock, step_seconds=20.0)
    compiled = itertools.count()
    monkeypatch.setattr(trial, "num_compiled", lambda: next(compiled))
    assert num_steps_in(60, learner) == 3
    assert learner.num_steps == trial.NUM_WARM_STEPS + 2


def test_a_long_first_compilation_does_not_end_the_trial_at_the_next(clock, monkeypatch):
    learner = FakeLearner(clock, step_seconds=0.5)
    learner.seconds = iter([65.0, 1.0, 30.0, *[0.5] * 30])
    compiled = iter([0, 1, 1, 2, *[2] * 80])
    monkeypatch.setattr(trial, "num_compiled", lambda: next(compiled))
    assert num_steps_in(120, learner) == 240


def test_a_compilation_is_noticed():
    double = torch.compile(lambda x: 2 * x, backend="eager")
    before = trial.num_compiled()
    double(torch.ones(2))
    after = trial.num_compiled()
    double(torch.ones(2))
    assert before < after == trial.num_compiled()


def test_what_a_first_look_compiles_anew_is_noticed():
    weight = torch.ones(2, requires_grad=True)
    double = torch.compile(lambda x: 2 * x, backend="eager")
    double(weight).sum().backward()
    before = trial.num_compiled()
    with torch.no_grad():
        double(weight)
    assert before < trial.num_compiled()


def test_a_first_look_that_compiles_is_not_what_looks_take(clock, monkeypatch):
    learner = FakeLearner(clock, step_seconds=0.5)
    seconds = iter([20.0, 0.25])
    compiled = iter([0, 1, 1, 1])
    monkeypatch.setattr(trial, "num_compiled", lambda: next(compiled))
    monkeypatch.setattr(learner, "validate", lambda _state: clock.wait(next(seconds)))
    assert trial.seconds_of_a_look(learner, None) == 0.25


@pytest.mark.parametrize(("look_seconds", "num_looks"), [(2.0, 2), (20.0, 1)])
def test_a_long_look_that_compiles_nothing_is_taken_once(clock, look_seconds, num_looks):
    learner = FakeLearner(clock, step_seconds=0.5, validation_seconds=look_seconds)
    assert trial.seconds_of_a_look(learner, None) == look_seconds
    assert learner.num_looks == num_looks


def test_one_slow_step_among_the_timed_does_not_count(clock):
    learner = FakeLearner(clock, step_seconds=0.5)
    learner.seconds = iter([0.5, 0.5, 0.5, 9.0, 0.5, 0.5, 0.5])
    assert num_steps_in(600, learner) == 1_200


def test_a_slow_machine_does_not_spend_its_budget_on_being_measured(clock):
    learner = FakeLearner(clock, step_seconds=30.0)
    assert num_steps_in(60, learner) >= 0
    assert learner.num_steps == trial.NUM_WARM_STEPS + 1


@pytest.mark.parametrize(
    ("fewest_between", "num_looks"), [(1, 10), (60, 10), (61, 9), (200, 4), (2_000, 1)]
)
def test_only_looks_that_a_run_will_have_are_paid_for(clock, fewest_between, num_looks):
    learner = FakeLearner(clock, step_seconds=0.5, validation_seconds=30.0)
    num_steps = num_steps_in(600, learner, fewest_between)
    assert num_steps == (600 - num_looks * 30) / 0.5
    assert num_looks == 1 or num_steps // num_looks >= fewest_between


def test_even_where_looks_take_everything_a_tenth_is_left_for_steps(clock):
    learner = FakeLearner(clock, step_seconds=0.5, validation_seconds=1_000)
    assert num_steps_in(600, learner) == 60 / 0.5


def test_the_plan_with_the_most_steps_is_chosen(clock, toy, monkeypatch):
    monkeypatch.setattr(planning, "can_compile", lambda: True)
    plan = first_plan(Budget(), PLACE, toy.recipe("causal"))

    def learner_for(candidate):
        seconds = 0.25 if candidate.is_compiled else 0.5
        first = 60.0 if candidate.is_compiled else 0.0
        return FakeLearner(clock, step_seconds=seconds, first_seconds=first)

    long = measured_plan(plan, 30, 4_096, learner_for)
    assert long.is_compiled
    assert long.num_steps == 1_800 / 0.25
    assert long.steps_between_validations == long.num_steps // 10
    short = measured_plan(plan, 1, 4_096, learner_for)
    assert not short.is_compiled
    assert short.num_steps == 120


@pytest.mark.parametrize(("seconds_of_one", "expected"), [(0.1, 1), (0.9, 4)])
def test_one_thread_is_tried_where_asked_and_taken_where_it_does_more(
    clock, toy, seconds_of_one, expected
):
    place = replace(PLACE, num_threads=4)
    plan = first_plan(Budget(minutes=1), place, toy.recipe("causal"))

    def learner_for(candidate):
        seconds = seconds_of_one if candidate.num_threads == 1 else 0.5
        return FakeLearner(clock, step_seconds=seconds)

    made = measured_plan(plan, 1, 4_096, learner_for, tries_one_thread=True)
    assert made.num_threads == expected
    assert made.num_steps == round(60 / min(seconds_of_one, 0.5))
    assert measured_plan(plan, 1, 4_096, learner_for).num_threads == 4


def test_a_budget_too_small_for_a_step_is_one_step(clock, toy, monkeypatch):
    plan = first_plan(Budget(minutes=0.001), PLACE, toy.recipe("causal"))
    made = measured_plan(plan, 0.001, 4_096, lambda _plan: FakeLearner(clock, step_seconds=90.0))
    assert made.num_steps == 1
