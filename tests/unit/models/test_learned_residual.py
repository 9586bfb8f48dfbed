"""Dropout, sum and norm by compiled code: what PyTorch says of them one by one.

Legend: B batch, T positions, D width.
"""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from headstart.models import learned_residual as module
from headstart.models.dropout import Dropout
from headstart.models.learned_residual import normed_sum


def new_norm(width: int, *, has_shift: bool = True) -> nn.LayerNorm:
    norm = nn.LayerNorm(width, bias=has_shift)
    for parameter in norm.parameters():
        nn.init.normal_(parameter, mean=1.0)
    return norm


def learned(answer_BTD: Tensor, gradient_BTD: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    return [answer_BTD, *torch.autograd.grad(answer_BTD, inputs, gradient_BTD)]


@settings(deadline=None, max_examples=60, derandomize=True, database=None)
@given(
    num_rows=st.integers(1, 9),
    width=st.sampled_from([1, 7, 8, 16, 33, 200]),
    share=st.sampled_from([0.0, 0.1, 0.5, 0.999]),
    has_shift=st.booleans(),
    seed=st.integers(0, 99),
)
def test_answers_and_gradients_are_those_of_the_parts(
    every_kernel, num_rows, width, share, has_shift, seed
):
    torch.manual_seed(seed)
    hidden_BTD, branch_BTD, gradient_BTD = torch.randn(3, num_rows, 2, width).unbind()
    dropout, norm = Dropout(share), new_norm(width, has_shift=has_shift)
    inputs = [hidden_BTD.requires_grad_(), branch_BTD.requires_grad_(), *norm.parameters()]
    torch.manual_seed(seed)
    parts = learned(norm(hidden_BTD + dropout(branch_BTD)), gradient_BTD, inputs)
    for kernels in every_kernel:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "compiled_kernels", lambda kernels=kernels: kernels)
            torch.manual_seed(seed)
            whole = learned(normed_sum(hidden_BTD, branch_BTD, dropout, norm), gradient_BTD, inputs)
        for one, other in zip(whole, parts, strict=True):
            # Of one number nothing is left but how it is rounded, times a hundred.
            torch.testing.assert_close(one, other, rtol=1e-3, atol=2e-2 if width == 1 else 2e-4)


def test_nothing_is_dropped_where_nothing_is_learned(every_kernel):
    dropout, norm = Dropout(0.5).eval(), new_norm(20)
    hidden, branch = torch.randn(2, 3, 4, 20).unbind()
    torch.testing.assert_close(normed_sum(hidden, branch, dropout, norm), norm(hidden + branch))


def test_vectors_may_lie_in_any_order(every_kernel):
    norm = new_norm(20)
    hidden = torch.randn(4, 3, 20).transpose(0, 1).requires_grad_()
    branch = torch.randn(20, 4, 3).permute(2, 1, 0).requires_grad_()
    gradient = torch.randn(4, 3, 20).transpose(0, 1)
    whole = learned(normed_sum(hidden, branch, Dropout(0.0), norm), gradient, [hidden, branch])
    parts = learned(norm(hidden + branch), gradient, [hidden, branch])
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_what_is_added_to_itself_has_both_gradients(every_kernel):
    norm, hidden = new_norm(20), torch.randn(2, 3, 20, requires_grad=True)
    gradient = torch.randn(2, 3, 20)
    whole = learned(normed_sum(hidden, hidden, Dropout(0.0), norm), gradient, [hidden])
    parts = learned(norm(hidden + hidden), gradient, [hidden])
    torch.testing.assert_close(whole[1], parts[1], rtol=1e-4, atol=1e-5)


def test_a_number_that_is_none_stays_none(every_kernel):
    hidden = torch.zeros(2, 1, 20)
    hidden[1, 0, 19] = math.nan
    normed = normed_sum(hidden, torch.randn(2, 1, 20), Dropout(0.0), new_norm(20))
    assert normed[0].isfinite().all()
    assert normed[1].isnan().all()
