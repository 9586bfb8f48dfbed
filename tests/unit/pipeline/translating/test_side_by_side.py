"""Batches beside each other give all answers, and leave PyTorch's threads as they were."""

import threading
import time

import pytest
import torch

from headstart.pipeline.translating.side_by_side import side_by_side


@pytest.fixture(params=[1, 2, 3])
def num_threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("num_batches", [0, 1, 2, 9])
def test_every_batch_is_answered_once(num_threads, num_batches):
    found = list(side_by_side(lambda number: number * number, range(num_batches)))
    assert sorted(found) == [number * number for number in range(num_batches)]
    assert torch.get_num_threads() == num_threads


def test_each_thread_has_a_core(num_threads):
    seen = set()
    for counted, name in side_by_side(
        lambda _: (torch.get_num_threads(), threading.get_ident()), range(12)
    ):
        assert counted == 1
        seen.add(name)
    assert len(seen) <= num_threads


def test_error_is_raised_and_threads_are_given_back(num_threads):
    with pytest.raises(ZeroDivisionError):
        list(side_by_side(lambda number: 1 / number, range(5)))
    assert torch.get_num_threads() == num_threads


def test_nothing_more_is_begun_once_nobody_asks(num_threads):
    begun = []

    def answer(number):
        begun.append(number)
        # All but the first take so long that nobody could do all of them before the end.
        if number:
            time.sleep(0.05)

    answers = side_by_side(answer, range(500))
    next(answers)
    answers.close()
    assert len(begun) < 500
    assert torch.get_num_threads() == num_threads
