"""Dropout by compiled code: a share by the hash it says, made up for, and the same backward."""

import pytest
import torch

from headstart.models.dropout import Dropout
from headstart.models.learned_dropout import NONE_DROPPED, dropped, new_dropping


@pytest.mark.parametrize("shape", [(0,), (1,), (17,), (3, 5, 7), (9, 1024), (5, 1031)])
def test_answers_and_gradients_are_those_of_the_hash(
    every_kernel, by_kernels, factors_by_hash, shape
):
    dropping = new_dropping(0.3, 0x1234_5678_9ABC_DEF0)
    factor = factors_by_hash(dropping, shape).float()
    numbers, gradient = torch.randn(2, *shape).unbind()
    for kernels in every_kernel:
        with by_kernels(kernels):
            given = numbers.clone().requires_grad_()
            left = dropped(given, dropping)
            (found,) = torch.autograd.grad(left, given, gradient)
        assert torch.equal(left, numbers * factor)
        assert torch.equal(found, gradient * factor)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_share_is_dropped_and_made_up_for(every_kernel, share):
    torch.manual_seed(0)
    found = [Dropout(share)(torch.ones(500, 200)) for _ in range(2)]
    for factor_ND in found:
        assert (factor_ND == 0).double().mean() == pytest.approx(share, abs=0.005)
        assert factor_ND.double().mean() == pytest.approx(1, abs=0.02)
        # Neither a row nor a column is spared, and neighbours know nothing of each other.
        is_kept_ND = (factor_ND > 0).double()
        for axis in (0, 1):
            assert (is_kept_ND.mean(dim=axis) - (1 - share)).abs().max() < 0.2
        together = (is_kept_ND[:, 1:] * is_kept_ND[:, :-1]).mean()
        assert together == pytest.approx((1 - share) ** 2, abs=0.01)
    agreeing = (found[0] == found[1]).double().mean()
    assert agreeing == pytest.approx(share**2 + (1 - share) ** 2, abs=0.01)


def test_the_same_seed_drops_the_same_numbers():
    torch.manual_seed(5)
    one = Dropout(0.3).new_dropping()
    torch.manual_seed(5)
    assert one == Dropout(0.3).new_dropping()
    assert one != Dropout(0.3).new_dropping()


def test_nothing_is_dropped_where_nothing_is_learned():
    assert Dropout(0.5).eval().new_dropping() is NONE_DROPPED
    assert Dropout(0.0).new_dropping() is NONE_DROPPED


def test_numbers_may_lie_in_any_order(every_kernel):
    dropping, numbers = new_dropping(0.5, 7), torch.randn(6, 50)
    turned = numbers.t().contiguous().t()
    assert torch.equal(dropped(turned, dropping), dropped(numbers, dropping))
