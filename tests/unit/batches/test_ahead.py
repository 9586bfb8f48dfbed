"""What is made a step ahead is what would have been made in its turn."""

import threading

import pytest

from headstart.batches.ahead import Ahead


def test_steps_come_out_as_the_function_makes_them_in_any_order():
    ahead = Ahead(lambda step: step * step)
    for step in (0, 1, 2, 7, 8, 3, 3, 4):
        assert ahead(step) == step * step


def test_the_next_step_is_begun_before_it_is_asked_for():
    begun = {step: threading.Event() for step in range(5)}

    def make(step: int) -> int:
        begun[step].set()
        return step

    ahead = Ahead(make)
    assert ahead(0) == 0
    assert begun[1].wait(timeout=10)


def test_each_step_of_a_walk_is_made_once():
    made = []
    ahead = Ahead(lambda step: made.append(step) or step)
    assert [ahead(step) for step in range(6)] == list(range(6))
    assert made[:6] == list(range(6))


def test_an_error_of_a_step_is_raised_when_that_step_is_asked_for():
    def make(step: int) -> int:
        if step == 2:
            raise ValueError("step 2")
        return step

    ahead = Ahead(make)
    assert [ahead(0), ahead(1)] == [0, 1]
    with pytest.raises(ValueError, match="step 2"):
        ahead(2)
