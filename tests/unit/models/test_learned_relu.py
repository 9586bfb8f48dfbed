"""Bias and ReLU by compiled code: what PyTorch says of them.

Legend: N rows, F inner width.
"""

import math

import pytest
import torch

from headstart.models.learned_relu import bend, unbend


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (5, 16), (9, 200), (0, 4)])
def test_answers_and_gradients_are_those_of_pytorch(every_kernel, by_kernels, shape, has_bias):
    inner_NF, gradient_NF = torch.randn(2, *shape).unbind()
    bias_F = torch.randn(shape[1]) * has_bias
    inputs = inner_NF.clone().requires_grad_(), bias_F.clone().requires_grad_()
    bent_NF = torch.relu(sum(inputs))
    expected = torch.autograd.grad(bent_NF, inputs, gradient_NF)
    for kernels in every_kernel:
        with by_kernels(kernels):
            found_NF, found_gradient_NF = inner_NF.clone(), gradient_NF.clone()
            bend(found_NF, bias_F if has_bias else None)
            bias_gradient_F = unbend(found_NF, found_gradient_NF)
        assert torch.equal(found_NF, bent_NF)
        assert torch.equal(found_gradient_NF, expected[0])
        torch.testing.assert_close(bias_gradient_F, expected[1], rtol=1e-5, atol=1e-5)


def test_a_number_that_is_none_stays_none(every_kernel):
    inner_NF = torch.full((1, 20), -1.0)
    inner_NF[0, 17] = math.nan
    bend(inner_NF, None)
    assert inner_NF[0, :17].eq(0).all()
    assert inner_NF[0, 17].isnan()
