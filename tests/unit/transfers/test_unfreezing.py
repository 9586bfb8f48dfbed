"""Which part learns when: depths, rates and the order of thawing."""

import pytest
import torch
from tiny_transfers import trunk_recipe

from headstart.models.heads.config import LabelHeadConfig, ModelConfig
from headstart.models.model import new_model
from headstart.training.config import LearningConfig
from headstart.training.optimiser import Optimiser
from headstart.transfers.unfreezing import depth_of, freeze_trunk, layer_rates, thaw, thawed_depth

NUM_LAYERS = 3


@pytest.fixture
def model():
    trunk = trunk_recipe(NUM_LAYERS).model.trunk
    return new_model(ModelConfig(trunk=trunk, head=LabelHeadConfig(num_labels=2, pooling="mean")))


def part_of(name: str) -> str:
    if name.startswith("trunk.layers."):
        return name.split(".")[2]
    return "embedding" if name.startswith("trunk.embedding.") else "top"


# From the top: the head and the last norm, the layers, the embedding.
ORDER = ("top", "2", "1", "0", "embedding")


def test_depths_go_from_the_head_to_the_embedding(model):
    for name, _ in model.named_parameters():
        assert depth_of(name, NUM_LAYERS) == ORDER.index(part_of(name)), name
    assert depth_of("trunk.layers.0.norm.weight", 12) == 12
    assert depth_of("trunk.layers.11.norm.weight", 12) == 1


def test_the_first_step_moves_each_layer_by_its_share_of_the_rate(model):
    decay, rate = 0.5, 0.01
    learning = LearningConfig(weight_decay=0.0)
    optimiser = Optimiser(model, set(), learning, layer_rates(NUM_LAYERS, decay))
    before = {name: weights.detach().clone() for name, weights in model.named_parameters()}
    for weights in model.parameters():
        weights.grad = torch.full_like(weights, 0.25)
    optimiser.step(rate)
    for name, weights in model.named_parameters():
        moved = (before[name] - weights.detach()).abs()
        expected = rate * decay ** ORDER.index(part_of(name))
        torch.testing.assert_close(moved, torch.full_like(moved, expected), rtol=2e-3, atol=1e-7)


def test_rows_of_the_embedding_move_by_its_share_too(model):
    table = "trunk.embedding.tokens.weight"
    learning = LearningConfig(weight_decay=0.0)
    optimiser = Optimiser(model, {table}, learning, layer_rates(NUM_LAYERS, 0.5))
    weights = dict(model.named_parameters())[table]
    before = weights.detach().clone()
    weights.grad = torch.sparse_coo_tensor(
        torch.tensor([[3, 7]]),
        torch.ones(2, weights.shape[1]),
        weights.shape,
        check_invariants=True,
    )
    optimiser.step(0.01)
    moved = before - weights.detach()
    assert moved[[3, 7]].mean().item() == pytest.approx(0.01 * 0.5**4, rel=2e-3)
    assert (moved.abs().sum(dim=1) > 0).nonzero().flatten().tolist() == [3, 7]


def test_without_decay_every_share_is_the_whole(model):
    assert {layer_rates(NUM_LAYERS, 1.0)(name) for name, _ in model.named_parameters()} == {1.0}


@pytest.mark.parametrize("num_layers", [1, 2, 6, 12])
@pytest.mark.parametrize("num_epochs", [2, 3, 7, 10, 75])
def test_thawing_begins_with_the_head_never_goes_back_and_is_over_by_half(num_layers, num_epochs):
    depths = [thawed_depth(epoch, num_epochs, num_layers) for epoch in range(num_epochs)]
    assert depths[0] == 0
    assert depths == sorted(depths)
    assert depths[num_epochs // 2 :] == [num_layers + 1] * (num_epochs - num_epochs // 2)
    assert max(depths) == num_layers + 1


def test_one_epoch_alone_teaches_the_head_alone():
    assert thawed_depth(0, 1, 2) == 0


@pytest.mark.parametrize("depth", range(5))
def test_thawing_lets_exactly_the_parts_down_to_a_depth_learn(model, depth):
    thaw(model, 4)
    thaw(model, depth)
    for name, weights in model.named_parameters():
        assert weights.requires_grad == (ORDER.index(part_of(name)) <= depth), name


def test_a_frozen_trunk_leaves_the_head_to_learn(model):
    freeze_trunk(model)
    learning = {name for name, weights in model.named_parameters() if weights.requires_grad}
    assert learning == {"head.output.weight", "head.output.bias"}
