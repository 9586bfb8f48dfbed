"""Integrated gradients against what can be worked out by hand."""

import math

import pytest
import torch

from headstart.evaluation.integrated_gradients import (
    NUM_MOST_STEPS,
    NUM_POINTS,
    Shares,
    Way,
    integrated_gradients,
)


def drawn(*shape: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def test_a_linear_function_is_shared_out_by_weight_times_difference():
    weight, start, end = (drawn(5, 3, seed=seed) for seed in range(3))
    way = Way(function=lambda points: (points * weight).sum(dim=(1, 2)) + 7, start=start, end=end)
    found = integrated_gradients([way])
    torch.testing.assert_close(found.by_way[0], weight * (end - start))
    assert found.num_steps == NUM_POINTS
    assert found.gap < 1e-12


def test_a_quadratic_form_is_shared_out_by_its_mean_slope():
    matrix, start, end = drawn(4, 4, seed=1), drawn(4, seed=2), drawn(4, seed=3)
    way = Way(
        function=lambda points: torch.einsum("pi,ij,pj->p", points, matrix, points),
        start=start,
        end=end,
    )
    # The slope (A + Aᵀ)x is linear along the way, so that its mean is that at the middle.
    expected = (end - start) * ((matrix + matrix.T) @ (start + end) / 2)
    torch.testing.assert_close(integrated_gradients([way]).by_way[0], expected)


def test_several_ways_add_up_to_one_difference():
    ways = [
        Way(
            function=lambda points, seed=seed: (points * drawn(3, seed=seed)).tanh().sum(dim=1),
            start=torch.zeros(3, dtype=torch.float64),
            end=drawn(3, seed=seed + 10),
        )
        for seed in range(4)
    ]
    found = integrated_gradients(ways)
    difference = sum(
        float(way.function(way.end[None]) - way.function(way.start[None])) for way in ways
    )
    assert found.end_value - found.start_value == pytest.approx(difference)
    assert found.total == pytest.approx(difference, rel=0.01)
    assert len(found.by_way) == 4


def test_stretches_are_halved_until_the_shares_add_up():
    # Almost a jump: so narrow that few points miss it.
    way = Way(
        function=lambda points: torch.sigmoid(300 * (points[:, 0] - 0.37)),
        start=torch.zeros(1, dtype=torch.float64),
        end=torch.ones(1, dtype=torch.float64),
    )
    found = integrated_gradients([way])
    assert found.num_steps > NUM_POINTS
    assert found.gap <= 0.01


def test_kinks_are_found():
    # Each number has its own kink on the way: max(0, a + b t) adds up to what its end has.
    start, end = drawn(30, seed=1), drawn(30, seed=2)
    way = Way(function=lambda points: points.relu().sum(dim=1), start=start, end=end)
    found = integrated_gradients([way])
    expected = end.relu() - start.relu()
    assert found.gap <= 0.01
    torch.testing.assert_close(found.by_way[0], expected, atol=0.1, rtol=0)


def test_a_jump_ends_at_the_most_steps_and_shows_its_gap():
    way = Way(
        function=lambda points: (points[:, 0] > 0.5).double() + 0 * points[:, 0],
        start=torch.zeros(1, dtype=torch.float64),
        end=torch.ones(1, dtype=torch.float64),
    )
    found = integrated_gradients([way])
    assert found.num_steps >= NUM_MOST_STEPS
    assert found.gap == 1.0


def test_no_difference_leaves_no_gap():
    point = drawn(4, seed=1)
    way = Way(function=lambda points: points.sum(dim=1), start=point, end=point)
    found = integrated_gradients([way])
    assert found.gap == 0
    assert not found.by_way[0].any()


def test_points_are_worked_on_in_parts(monkeypatch):
    module = "headstart.evaluation.integrated_gradients.NUM_NUMBERS_AT_ONCE"
    end = drawn(6, seed=4)
    way = Way(
        function=lambda points: points.sin().prod(dim=1),
        start=torch.full((6,), 0.3, dtype=torch.float64),
        end=end,
    )
    expected = integrated_gradients([way])
    monkeypatch.setattr(module, 20)
    found = integrated_gradients([way])
    torch.testing.assert_close(found.by_way[0], expected.by_way[0])


def test_the_gap_is_a_share_of_the_difference():
    shares = Shares(by_way=(torch.tensor([1.0, 2.0]),), start_value=1.0, end_value=5.0, num_steps=8)
    assert shares.total == 3
    assert shares.gap == 0.25
    assert math.isfinite(shares.gap)
