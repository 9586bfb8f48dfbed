"""Bias, dropout, sum and norm by compiled code: what PyTorch says of them one by one.

Legend: N rows, D width.
"""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headstart.models.dropout import Dropout
from headstart.models.learned_residual import (
    NONE_DROPPED,
    Dropping,
    Norming,
    new_dropping,
    normed_sum,
    unnormed,
)


def scrambled(number: np.ndarray) -> np.ndarray:
    """Returns bits that look drawn, in numpy's own words."""
    number = number ^ (number >> np.uint32(16))
    number = number * np.uint32(0x21F0AAAD)
    number = number ^ (number >> np.uint32(15))
    number = number * np.uint32(0xD35A2D97)
    return number ^ (number >> np.uint32(15))


def factors(dropping: Dropping, shape: tuple[int, ...]) -> Tensor:
    """Returns what each number is multiplied by: 0, or what makes up for those."""
    low, high = (np.uint32(dropping.seed >> shift & 0xFFFFFFFF) for shift in (0, 32))
    place = np.arange(math.prod(shape), dtype=np.uint32)
    is_kept = scrambled(scrambled(place + low) ^ high) >= dropping.lowest_kept
    return torch.from_numpy(is_kept.reshape(shape)) * dropping.kept_factor


def drawn_norming(width: int, dropping: Dropping, *, has_bias: bool, has_shift: bool) -> Norming:
    return Norming(
        torch.randn(width) if has_bias else None,
        dropping,
        torch.randn(width) + 1,
        torch.randn(width) if has_shift else None,
        1e-5,
    )


def compiled(hidden_ND: Tensor, branch_ND: Tensor, norming: Norming, gradient_ND: Tensor):
    """Returns the norm of the sum, and the gradients of all it is made of."""
    found = normed_sum(hidden_ND, branch_ND.clone(), norming)
    return found.normed_ND, *unnormed(gradient_ND, found.distance_ND, found.scale_N, norming)


@settings(deadline=None, max_examples=80, derandomize=True, database=None)
@given(
    num_rows=st.integers(1, 9),
    width=st.sampled_from([2, 7, 8, 16, 33, 200]),
    share=st.sampled_from([0.0, 0.1, 0.5, 0.999]),
    has_bias=st.booleans(),
    has_shift=st.booleans(),
    seed=st.integers(0, 99),
)
def test_answers_and_gradients_are_those_of_the_parts(
    every_kernel, by_kernels, num_rows, width, share, has_bias, has_shift, seed
):
    torch.manual_seed(seed)
    hidden_ND, branch_ND, gradient_ND = torch.randn(3, num_rows, width).unbind()
    norming = drawn_norming(
        width, new_dropping(Dropout(share)), has_bias=has_bias, has_shift=has_shift
    )
    bias_D = torch.zeros(width) if norming.bias_D is None else norming.bias_D
    shift_D = torch.zeros(width) if norming.shift_D is None else norming.shift_D
    inputs = [
        part.double().requires_grad_()
        for part in (hidden_ND, branch_ND, norming.gain_D, shift_D, bias_D)
    ]
    hidden, branch, gain, shift, bias = inputs
    sum_ND = hidden + (branch + bias) * factors(norming.dropping, (num_rows, width))
    normed_ND = F.layer_norm(sum_ND, (width,), gain, shift, norming.epsilon)
    parts = normed_ND, *torch.autograd.grad(normed_ND, inputs, gradient_ND.double())
    for kernels in every_kernel:
        with by_kernels(kernels):
            whole = compiled(hidden_ND, branch_ND, norming, gradient_ND)
        for one, other in zip(whole, parts, strict=True):
            # Of two numbers that are alike little is left but how they are rounded.
            torch.testing.assert_close(
                one.double(), other, rtol=1e-3, atol=2e-2 if width == 2 else 5e-4
            )


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_share_is_dropped_and_made_up_for(every_kernel, share):
    torch.manual_seed(0)
    ones_ND = torch.ones(500, 200)
    found = [factors(new_dropping(Dropout(share)), ones_ND.shape) for _ in range(2)]
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


def test_the_same_seed_drops_the_same_numbers(every_kernel):
    torch.manual_seed(5)
    one = new_dropping(Dropout(0.3))
    torch.manual_seed(5)
    assert one == new_dropping(Dropout(0.3))
    assert one != new_dropping(Dropout(0.3))


def test_nothing_is_dropped_where_nothing_is_learned():
    assert new_dropping(Dropout(0.5).eval()) is NONE_DROPPED
    assert new_dropping(Dropout(0.0)) is NONE_DROPPED


def test_a_number_that_is_none_stays_none(every_kernel):
    hidden_ND = torch.zeros(2, 20)
    hidden_ND[1, 19] = math.nan
    norming = drawn_norming(20, NONE_DROPPED, has_bias=True, has_shift=True)
    normed_ND, *gradients = compiled(hidden_ND, torch.randn(2, 20), norming, torch.ones(2, 20))
    assert normed_ND[0].isfinite().all()
    assert normed_ND[1].isnan().all()
    assert gradients[0][0].isfinite().all()
    assert gradients[0][1].isnan().all()
