"""An average of the weights over the last steps, often better than the weights themselves."""

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn


class AveragedWeights:
    """Follows a model's parameters slowly: each step, a small part of the way."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.tensors = {
            name: weights.detach().clone() for name, weights in model.named_parameters()
        }

    @torch.no_grad()
    def follow(self, model: nn.Module, num_steps_done: int) -> None:
        """Moves the average towards the weights; faster in the first steps, as it knows little."""
        decay = min(self.decay, (1 + num_steps_done) / (10 + num_steps_done))
        for name, weights in model.named_parameters():
            self.tensors[name].lerp_(weights, 1 - decay)

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Takes up an average where it was left."""
        for name, value in self.tensors.items():
            value.copy_(tensors[name])

    @contextlib.contextmanager
    def in_place_of(self, model: nn.Module) -> Iterator[None]:
        """Lends the average to a model for as long as the block lasts."""
        learned = {name: weights.detach().clone() for name, weights in model.named_parameters()}
        load(model, self.tensors)
        try:
            yield
        finally:
            load(model, learned)


@torch.no_grad()
def load(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Copies values into a model's parameters."""
    for name, weights in model.named_parameters():
        weights.copy_(tensors[name])
