"""Dropout by compiled code, where a processor learns in single precision.

Which numbers are dropped is a function of a seed and of a number's place (`kernels/draws.h`), so
that nothing is drawn beforehand, or kept for the gradient.
"""

from ctypes import byref
from typing import Any, NamedTuple

import torch
from torch import Tensor

from headstart.models.kernels.dropout import DroppedFields
from headstart.models.kernels.library import kernels_in_use

# The values that a draw may have.
NUM_VALUES = 1 << 32


class Dropping(NamedTuple):
    """Which numbers are dropped."""

    seed: int
    lowest_kept: int
    """Draws below it drop their numbers; 0 drops none."""
    kept_factor: float
    """What makes up for the numbers that are dropped."""


NONE_DROPPED = Dropping(0, 0, 1.0)


def new_dropping(share: float, seed: int) -> Dropping:
    """Returns which numbers a seed drops, a share of all."""
    num_dropped = min(round(share * NUM_VALUES), NUM_VALUES - 1)
    return Dropping(seed, num_dropped, NUM_VALUES / (NUM_VALUES - num_dropped))


def dropped(numbers: Tensor, dropping: Dropping) -> Tensor:
    """Returns what is left of numbers."""
    left: Tensor = _Dropped.apply(numbers, dropping)  # type: ignore[no-untyped-call]
    return left


class _Dropped(torch.autograd.Function):
    """Dropout, whose gradient drops the same."""

    @staticmethod
    def forward(ctx: Any, numbers: Tensor, dropping: Dropping) -> Tensor:
        """Returns what is left of numbers."""
        ctx.dropping = dropping
        return left_of(numbers, dropping)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Returns what is left of their gradient."""
        return dropped(gradient, ctx.dropping), None


def left_of(numbers: Tensor, dropping: Dropping) -> Tensor:
    """Returns what is left of numbers, by their places."""
    numbers = numbers.contiguous()
    left = torch.empty_like(numbers)
    fields = DroppedFields(
        numbers=numbers.data_ptr(),
        left=left.data_ptr(),
        dropping=dropping,
        num_numbers=numbers.numel(),
        num_parts=torch.get_num_threads(),
    )
    kernels_in_use().drop(byref(fields))
    return left
