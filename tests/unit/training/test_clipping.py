"""Clipping as PyTorch does it, with sparse gradients counted once a row."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from headstart.training.clipping import clip_gradients

SHAPES = [(3, 4), (5,), (2, 2, 2)]


def with_gradients(scale: float = 1.0):
    generator = torch.Generator().manual_seed(0)
    found = []
    for shape in SHAPES:
        weights = nn.Parameter(torch.zeros(shape))
        weights.grad = scale * torch.randn(shape, generator=generator)
        found.append(weights)
    return found


def sparse(rows: list[int], values: torch.Tensor) -> nn.Parameter:
    table = nn.Parameter(torch.zeros(6, 2))
    table.grad = torch.sparse_coo_tensor([rows], values, table.shape, check_invariants=False)
    return table


@pytest.mark.parametrize("max_norm", [0.1, 1.0, 100.0])
def test_dense_gradients_are_clipped_as_pytorch_does(max_norm):
    ours, theirs = with_gradients(), with_gradients()
    norm = clip_gradients(ours, max_norm)
    assert torch.equal(norm, nn.utils.clip_grad_norm_(theirs, max_norm))
    for one, other in zip(ours, theirs, strict=True):
        assert torch.equal(one.grad, other.grad)


def test_a_sparse_gradient_counts_as_its_dense_form():
    table = sparse([4, 1, 4], torch.tensor([[3.0, 0.0], [0.0, 2.0], [1.0, 1.0]]))
    other = nn.Parameter(torch.zeros(3))
    other.grad = torch.ones(3)
    dense = [nn.Parameter(torch.zeros(6, 2)), nn.Parameter(torch.zeros(3))]
    dense[0].grad, dense[1].grad = table.grad.to_dense(), other.grad.clone()
    assert_close(clip_gradients([table, other], 0.5), nn.utils.clip_grad_norm_(dense, 0.5))
    assert table.grad.is_sparse
    assert table.grad.is_coalesced()
    assert_close(table.grad.to_dense(), dense[0].grad)
    assert_close(other.grad, dense[1].grad)


@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan])
def test_a_norm_that_is_no_number_is_told_and_changes_nothing(value):
    parameters = with_gradients()
    parameters[1].grad[2] = value
    before = [weights.grad.clone() for weights in parameters]
    assert not clip_gradients(parameters, 0.1).isfinite()
    for weights, gradient in zip(parameters, before, strict=True):
        assert_close(weights.grad, gradient, equal_nan=True, rtol=0, atol=0)


def test_what_has_no_gradient_has_no_norm():
    assert clip_gradients([nn.Parameter(torch.ones(2))], 1.0) == 0
    parameters = [*with_gradients(), nn.Parameter(torch.ones(2))]
    assert clip_gradients(parameters, 1.0) > 0
    assert parameters[-1].grad is None


def test_zero_gradients_stay_zero():
    parameters = with_gradients(scale=0.0)
    assert clip_gradients(parameters, 1.0) == 0
    assert all((weights.grad == 0).all() for weights in parameters)
