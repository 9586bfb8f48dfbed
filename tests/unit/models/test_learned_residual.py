"""Bias, dropout, sum and norm by compiled code: what PyTorch says of them one by one.

Legend: N rows, D width.
"""

import math

import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headstart.models.dropout import Dropout
from headstart.models.learned_dropout import NONE_DROPPED, Dropping
from headstart.models.learned_residual import Norming, normed_sum, unnormed


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
    return found.normed, *unnormed(gradient_ND, found.distance_ND, found.scale_N, norming)


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
    every_kernel, by_kernels, factors_by_hash, num_rows, width, share, has_bias, has_shift, seed
):
    torch.manual_seed(seed)
    hidden_ND, branch_ND, gradient_ND = torch.randn(3, num_rows, width).unbind()
    dropping = Dropout(share).new_dropping()
    norming = drawn_norming(width, dropping, has_bias=has_bias, has_shift=has_shift)
    bias_D = torch.zeros(width) if norming.bias_D is None else norming.bias_D
    shift_D = torch.zeros(width) if norming.shift_D is None else norming.shift_D
    inputs = [
        part.double().requires_grad_()
        for part in (hidden_ND, branch_ND, norming.gain_D, shift_D, bias_D)
    ]
    hidden, branch, gain, shift, bias = inputs
    sum_ND = hidden + (branch + bias) * factors_by_hash(dropping, (num_rows, width))
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


def test_a_number_that_is_none_stays_none(every_kernel):
    hidden_ND = torch.zeros(2, 20)
    hidden_ND[1, 19] = math.nan
    norming = drawn_norming(20, NONE_DROPPED, has_bias=True, has_shift=True)
    normed_ND, *gradients = compiled(hidden_ND, torch.randn(2, 20), norming, torch.ones(2, 20))
    assert normed_ND[0].isfinite().all()
    assert normed_ND[1].isnan().all()
    assert gradients[0][0].isfinite().all()
    assert gradients[0][1].isnan().all()
