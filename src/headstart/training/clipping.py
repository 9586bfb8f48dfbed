"""Gradients cut to a longest norm, dense and sparse ones together."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

# As in torch.nn.utils.clip_grad_norm_: keeps a norm of zero from dividing.
TINY = 1e-6


@torch.no_grad()
def clip_gradients(parameters: Sequence[nn.Parameter], max_norm: float) -> Tensor:
    """Shortens all gradients to a common norm of at most `max_norm`; returns the norm they had.

    A norm that is infinite or no number leaves the gradients as they are, for someone to look at.
    """
    values = [value for weights in parameters if (value := gradient_values(weights)) is not None]
    if not values:
        return torch.zeros(())
    norm = torch.nn.utils.get_total_norm(values)
    factor = (max_norm / (norm + TINY)).clamp(max=1.0)
    factor = torch.where(norm.isfinite(), factor, torch.ones_like(factor))
    torch._foreach_mul_(values, factor)
    return norm


def gradient_values(weights: nn.Parameter) -> Tensor | None:
    """Returns the numbers of a gradient; of a sparse one, those of the rows it names, once each."""
    if weights.grad is None:
        return None
    if not weights.grad.is_sparse:
        return weights.grad
    if not weights.grad.is_coalesced():
        weights.grad = weights.grad.coalesce()
    return weights.grad._values()
