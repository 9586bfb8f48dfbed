"""Gradients that are made by hand, once: nothing is known of how they change in turn."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Gradients = TypeVar("Gradients")


def made_once(backward: Callable[[Any, Tensor], Gradients]) -> Callable[[Any, Tensor], Gradients]:
    """Has whoever differentiates gradients once more be told that it cannot be done.

    PyTorch's own mark tells it only where the gradient that comes in changes as well; where it does
    not, as for a sum of what was computed, the second gradients would silently be left out.
    """
    once = once_differentiable(backward)

    @wraps(backward)
    def marked(ctx: Any, gradient: Tensor) -> Gradients:
        if torch.is_grad_enabled():
            gradient = gradient.detach().requires_grad_()
        gradients: Gradients = once(ctx, gradient)
        return gradients

    return marked
