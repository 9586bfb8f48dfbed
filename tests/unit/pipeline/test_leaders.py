"""The best weights: which are kept, how they are averaged, and that a checkpoint keeps them."""

import random

import pytest
import torch

from headstart.pipeline.leaders import Leaders


def weights(value: float):
    return lambda: {"a": torch.full((3,), value), "b": torch.tensor([[value, -value]])}


@pytest.mark.parametrize("num_kept", [1, 3, 5])
def test_the_kept_are_the_first_of_all_sorted_by_total_and_step(num_kept):
    draw = random.Random(num_kept)
    for _ in range(50):
        totals = [draw.randrange(6) / 10 for _ in range(draw.randint(1, 12))]
        leaders = Leaders(num_kept)
        for step, total in enumerate(totals, start=1):
            leaders.offer(step, total, weights(float(step)))
        expected = sorted(zip(totals, range(1, 99), strict=False))[:num_kept]
        assert [(leader.total, leader.step) for leader in leaders.found] == expected
        assert leaders.step == expected[0][1]
        mean = sum(step for _, step in expected) / len(expected)
        torch.testing.assert_close(leaders.weights()["a"], torch.full((3,), mean))
        torch.testing.assert_close(leaders.weights()["b"], torch.tensor([[mean, -mean]]))


def test_one_leader_keeps_its_weights_bit_for_bit():
    leaders = Leaders(1)
    odd = torch.tensor([0.1, 1e-30, -0.0])
    leaders.offer(4, 0.5, lambda: {"a": odd})
    assert leaders.weights()["a"] is odd


def test_weights_are_only_copied_where_they_are_kept():
    leaders, copied = Leaders(1), []

    def offered(step):
        return lambda: copied.append(step) or {}

    for step, total in enumerate([0.5, 0.6, 0.5, 0.4], start=1):
        leaders.offer(step, total, offered(step))
    assert copied == [1, 4]


def test_before_any_look_there_is_no_best_step():
    assert Leaders(3).step == 0


def test_leaders_are_taken_up_from_what_a_checkpoint_holds():
    leaders, again = Leaders(3), Leaders(3)
    for step, total in enumerate([0.5, 0.2, 0.3, 0.4], start=1):
        leaders.offer(step, total, weights(float(step)))
    assert list(leaders.groups()) == ["best", "best-2", "best-3"]
    again.restore(leaders.facts(), leaders.groups())
    assert again.facts() == leaders.facts()
    for name, tensor in leaders.weights().items():
        assert torch.equal(again.weights()[name], tensor)
    again.offer(5, 0.1, weights(5.0))
    assert again.step == 5
