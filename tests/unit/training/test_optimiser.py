"""AdamW by hand: its moments, their correction, and who decays."""

import torch
from torch import nn

from headstart.training.config import LearningConfig
from headstart.training.optimiser import DeviceRates, Optimiser, decay_groups

CONFIG = LearningConfig(weight_decay=0.3, beta1=0.8, beta2=0.95)


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.matrix = nn.Parameter(torch.randn(3, 4, generator=torch.Generator().manual_seed(0)))
        self.bias = nn.Parameter(torch.randn(4, generator=torch.Generator().manual_seed(1)))
        self.frozen = nn.Parameter(torch.ones(2, 2), requires_grad=False)


def test_weights_move_as_the_paper_says_with_bias_correction_and_decoupled_decay():
    model = Small()
    optimiser = Optimiser(model, set(), CONFIG)
    weights = {"matrix": model.matrix.detach().double(), "bias": model.bias.detach().double()}
    first = {name: torch.zeros_like(value) for name, value in weights.items()}
    second = {name: torch.zeros_like(value) for name, value in weights.items()}
    generator = torch.Generator().manual_seed(5)
    for step in range(1, 8):
        rate = 0.01 * step
        for name, parameter in (("matrix", model.matrix), ("bias", model.bias)):
            parameter.grad = torch.randn(parameter.shape, generator=generator)
            gradient = parameter.grad.double()
            first[name] = 0.8 * first[name] + 0.2 * gradient
            second[name] = 0.95 * second[name] + 0.05 * gradient**2
            decay = 0.3 if name == "matrix" else 0.0
            fair_first = first[name] / (1 - 0.8**step)
            fair_second = second[name] / (1 - 0.95**step)
            weights[name] = weights[name] * (1 - rate * decay)
            weights[name] = weights[name] - rate * fair_first / (fair_second.sqrt() + 1e-8)
        optimiser.step(rate)
        torch.testing.assert_close(model.matrix.double(), weights["matrix"], atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(model.bias.double(), weights["bias"], atol=1e-6, rtol=1e-5)
        assert model.matrix.grad is None


def test_every_matrix_decays_and_no_norm_or_bias_does(toy):
    for name in ("causal", "masked", "masked+next"):
        model = toy.model(name)
        decaying, still = decay_groups(model.named_parameters(), 0.1)
        assert (decaying["weight_decay"], still["weight_decay"]) == (0.1, 0.0)
        vectors = {id(weights) for weights in still["params"]}
        for module in model.modules():
            for key, weights in module.named_parameters(recurse=False):
                is_vector = key == "bias" or "Norm" in type(module).__name__
                assert (id(weights) in vectors) == is_vector, (type(module).__name__, key)


def test_a_weight_without_a_gradient_decays_only_where_it_is_a_matrix():
    model = Small()
    before = model.matrix.detach().clone(), model.bias.detach().clone()
    optimiser = Optimiser(model, set(), CONFIG)
    model.matrix.grad, model.bias.grad = torch.zeros(3, 4), torch.zeros(4)
    optimiser.step(0.5)
    torch.testing.assert_close(model.matrix.detach(), before[0] * (1 - 0.5 * 0.3))
    assert torch.equal(model.bias, before[1])


def test_frozen_weights_stay():
    model = Small()
    optimiser = Optimiser(model, set(), CONFIG)
    assert set(optimiser.parameters) == {"matrix", "bias"}
    model.matrix.grad = torch.ones(3, 4)
    optimiser.step(0.1)
    assert (model.frozen == 1).all()


def test_rates_that_lie_on_a_device_leave_no_table_behind():
    plain, on_device = Small(), Small()
    optimisers = [Optimiser(model, {"matrix"}, CONFIG) for model in (plain, on_device)]
    # As on a GPU, where only what steps touch as a whole has its rates beside it.
    dense, rowwise = optimisers[1]._parts
    optimisers[1]._rates = DeviceRates(dense.param_groups)
    for model, optimiser in zip((plain, on_device), optimisers, strict=True):
        for rate in (0.1, 0.05):
            model.matrix.grad = torch.ones(3, 4).to_sparse(1)
            model.bias.grad = torch.ones(4)
            optimiser.step(rate)
        optimiser.settle()
    assert rowwise.param_groups[0]["lr"] == 0.05
    assert not torch.equal(plain.matrix, Small().matrix)
    torch.testing.assert_close(on_device.matrix, plain.matrix)
    torch.testing.assert_close(on_device.bias, plain.bias)


def test_what_was_remembered_can_be_taken_up_bit_for_bit():
    models = [Small(), Small()]
    one = Optimiser(models[0], set(), CONFIG)
    generator = torch.Generator().manual_seed(2)
    gradients = [torch.randn(3, 4, generator=generator) for _ in range(6)]

    def step(model, optimiser, gradient):
        model.matrix.grad, model.bias.grad = gradient.clone(), gradient[0].clone()
        optimiser.step(0.02)

    for gradient in gradients[:3]:
        step(models[0], one, gradient)
    models[1].load_state_dict(models[0].state_dict())
    other = Optimiser(models[1], set(), CONFIG)
    other.restore({key: value.clone() for key, value in one.tensors()})
    for gradient in gradients[3:]:
        step(models[0], one, gradient)
        step(models[1], other, gradient)
    assert torch.equal(models[0].matrix, models[1].matrix)
    assert torch.equal(models[0].bias, models[1].bias)


def test_a_tied_matrix_is_stepped_once(toy):
    model = toy.model("causal")
    assert model.head.weight is model.trunk.embedding.tokens.weight
    optimiser = Optimiser(model, set(), CONFIG)
    held = [id(weights) for weights in optimiser.parameters.values()]
    assert held.count(id(model.head.weight)) == 1
