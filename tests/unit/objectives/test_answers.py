"""The vectors that a loss is about are picked by their places, and get gradients there alone."""

import pytest
import torch

from headstart.objectives.answers import answered_vectors


@pytest.mark.parametrize("places", [[], [0], [1, 4, 5], [0, 1, 2, 3, 4, 5]])
def test_answered_vectors_are_those_of_plain_indexing_with_its_gradient(places):
    hidden_BTD = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    answered_M = torch.tensor(places, dtype=torch.int64)
    ours, theirs = answered_vectors(hidden_BTD, answered_M), hidden_BTD.flatten(0, 1)[answered_M]
    assert torch.equal(ours, theirs)
    weight_MD = torch.randn_like(ours)
    gradients = [
        torch.autograd.grad((each * weight_MD).sum(), hidden_BTD) for each in (ours, theirs)
    ]
    assert torch.equal(*(gradient for (gradient,) in gradients))
