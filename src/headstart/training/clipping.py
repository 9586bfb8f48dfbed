"""Gradients cut to a largest norm, so that one odd batch cannot throw the weights far."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def clip_gradients(parameters: Sequence[nn.Parameter], max_norm: float) -> Tensor:
    """Scales gradients down to a norm where theirs is larger, and returns what it was."""
    return torch.nn.utils.clip_grad_norm_(parameters, max_norm)
