"""This machine's rates: measured, described, and positive."""

import math
import time

import pytest
import torch

from headstart.models.accounting import machine
from headstart.models.accounting.machine import (
    NUM_FEWEST_REPETITIONS,
    describe,
    measure_machine,
    median_seconds,
    memory_bytes,
)

TINY_SECONDS = 1e-3


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_a_tiny_budget_still_gives_positive_rates():
    seen = measure_machine("cpu", budget_seconds=TINY_SECONDS)
    assert 0 < seen.matrix_rate < math.inf
    assert 0 < seen.pass_rate < math.inf


def test_the_memory_is_that_of_the_system():
    seen = measure_machine("cpu", budget_seconds=TINY_SECONDS)
    assert seen.memory_bytes == memory_bytes("cpu")
    assert seen.memory_bytes is None or seen.memory_bytes > 1 << 20


def test_the_name_says_how_many_threads_work(two_threads):
    assert "2 threads" in describe("cpu")
    torch.set_num_threads(1)
    assert describe("cpu").endswith("1 thread")


def test_measuring_leaves_the_generator_alone():
    before = torch.get_rng_state()
    measure_machine("cpu", budget_seconds=TINY_SECONDS)
    assert torch.equal(torch.get_rng_state(), before)


def test_an_action_is_repeated_a_few_times_however_small_the_budget():
    calls = []
    median_seconds(lambda: calls.append(1), 0.0, "cpu")
    # The first call warms up and is not counted.
    assert len(calls) == 1 + NUM_FEWEST_REPETITIONS


def test_one_slow_repetition_does_not_move_the_median(monkeypatch):
    instants = iter([0.0, 1.0, 1.0, 2.0, 2.0, 1_000.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(instants))
    assert median_seconds(lambda: None, 0.0, "cpu") == 1.0


def test_the_matrix_rate_counts_two_operations_for_each_multiplication(monkeypatch):
    monkeypatch.setattr(machine, "median_seconds", lambda *_: 2.0)
    seen = measure_machine("cpu")
    assert seen.matrix_rate == 1_024**3
    assert seen.pass_rate == machine.NUM_PASS_NUMBERS * 4
