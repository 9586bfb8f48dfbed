"""The average of the weights against one kept by hand."""

import pytest
import torch
from torch import nn

from headstart.training.averaging import AveragedWeights


def moved(model: nn.Module, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in model.parameters():
            weights += torch.randn(weights.shape, generator=generator)


def test_the_average_is_that_of_a_loop_by_hand():
    model = nn.Linear(3, 2)
    average = AveragedWeights(model, decay=0.6)
    by_hand = {name: weights.detach().double() for name, weights in model.named_parameters()}
    for step in range(1, 40):
        moved(model, step)
        average.follow(model, step)
        decay = min(0.6, (1 + step) / (10 + step))
        for name, weights in model.named_parameters():
            by_hand[name] = decay * by_hand[name] + (1 - decay) * weights.detach().double()
    for name, value in average.tensors.items():
        torch.testing.assert_close(value.double(), by_hand[name], atol=1e-5, rtol=1e-5)


def test_a_model_that_has_the_average_lent_gets_its_own_weights_back():
    model = nn.Linear(3, 2)
    average = AveragedWeights(model, decay=0.9)
    moved(model, 1)
    learned = model.weight.detach().clone()

    def interrupted() -> None:
        with average.in_place_of(model):
            assert torch.equal(model.weight, average.tensors["weight"])
            raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        interrupted()
    assert torch.equal(model.weight, learned)
    assert not torch.equal(average.tensors["weight"], learned)


def test_an_average_is_taken_up_where_it_was_left():
    model = nn.Linear(3, 2)
    one = AveragedWeights(model, decay=0.9)
    moved(model, 1)
    one.follow(model, 1)
    other = AveragedWeights(model, decay=0.9)
    other.restore({name: value.clone() for name, value in one.tensors.items()})
    moved(model, 2)
    for average in (one, other):
        average.follow(model, 2)
    assert torch.equal(one.tensors["weight"], other.tensors["weight"])
