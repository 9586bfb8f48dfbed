"""Dropout drops the share that it should, makes up for it, and draws the same from a seed."""

import pytest
import torch

from headstart.models.dropout import NUM_VALUES, Dropout, drawn_factors

SHAPE = torch.Size([200, 500])
# Five standard deviations of a share of 100,000 draws at most.
TOLERANCE = 0.008


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.9])
def test_the_share_is_dropped_and_the_rest_makes_up_for_it(share):
    torch.manual_seed(0)
    factors = drawn_factors(SHAPE, share)
    values = factors.unique()
    assert values[0] == 0
    assert values[1].item() == pytest.approx(1 / (1 - share), rel=1e-4)
    assert len(values) == 2
    assert (factors == 0).float().mean().item() == pytest.approx(share, abs=TOLERANCE)


@pytest.mark.parametrize("shift", [1, 2, 3, 4, 500])
def test_neighbours_are_drawn_independently(shift):
    torch.manual_seed(1)
    is_dropped = (drawn_factors(SHAPE, 0.5) == 0).flatten()
    are_both = (is_dropped[shift:] & is_dropped[:-shift]).float().mean().item()
    assert are_both == pytest.approx(0.25, abs=TOLERANCE)


def test_the_same_seed_draws_the_same_and_each_call_anew():
    torch.manual_seed(2)
    first, second = drawn_factors(SHAPE, 0.2), drawn_factors(SHAPE, 0.2)
    torch.manual_seed(2)
    assert torch.equal(drawn_factors(SHAPE, 0.2), first)
    assert not torch.equal(first, second)


def test_what_was_dropped_has_no_gradient_and_the_rest_its_factor(by_kernels):
    numbers = torch.randn(SHAPE, requires_grad=True)
    torch.manual_seed(3)
    with by_kernels(None):
        Dropout(0.3)(numbers).sum().backward()
    torch.manual_seed(3)
    assert torch.equal(numbers.grad, drawn_factors(SHAPE, 0.3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_numbers_keep_their_type(dtype):
    assert Dropout(0.5)(torch.ones(3, dtype=dtype)).dtype == dtype


def test_nothing_is_dropped_in_use_or_for_a_share_of_none():
    numbers = torch.randn(SHAPE)
    assert Dropout(0.5).eval()(numbers) is numbers
    assert Dropout(0.0)(numbers) is numbers


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5])
def test_any_number_of_draws(size):
    assert drawn_factors(torch.Size([size, 1]), 0.5).shape == (size, 1)


def test_a_share_near_one_leaves_a_finite_factor():
    assert drawn_factors(SHAPE, 1 - 1e-9).max().item() in {0, NUM_VALUES}


def test_a_compiled_model_draws_by_pytorch(monkeypatch):
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    torch.manual_seed(4)
    ours = Dropout(0.5)(torch.ones(SHAPE))
    torch.manual_seed(4)
    assert torch.equal(ours, torch.nn.functional.dropout(torch.ones(SHAPE), 0.5))
