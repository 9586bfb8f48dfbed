"""Dropout, residual sum and norm in one pass, where a processor learns in single precision.

PyTorch passes over memory for each of them, forward and backward, and makes numbers of which were
dropped. `kernels/residual.c` reads the draws themselves: the same seed drops the same numbers.

Legend: B batch, T positions, D width.
"""

from ctypes import byref
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from headstart.models.dropout import Draws, Dropout, new_draws
from headstart.models.kernels.library import compiled_kernels
from headstart.models.kernels.residual import ResidualFields


def normed_sum(
    hidden_BTD: Tensor, branch_BTD: Tensor, dropout: Dropout, norm: nn.LayerNorm
) -> Tensor:
    """Returns the norm of the sum of vectors and what is left of those of a branch."""
    drops = dropout.training and dropout.share > 0
    draws = new_draws(branch_BTD.shape, dropout.share) if drops else None
    normed_BTD: Tensor = _NormedSum.apply(  # type: ignore[no-untyped-call]
        hidden_BTD, branch_BTD, norm.weight, norm.bias, Fixed(norm.eps, draws)
    )
    return normed_BTD


class Fixed(NamedTuple):
    """What a sum is normed by that nothing learns."""

    epsilon: float
    draws: Draws | None
    """Which numbers of the branch are dropped; None is none."""


class _NormedSum(torch.autograd.Function):
    """LayerNorm of a sum, one of whose parts is dropped here and there."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_BTD: Tensor,
        branch_BTD: Tensor,
        gain_D: Tensor,
        shift_D: Tensor | None,
        fixed: Fixed,
    ) -> Tensor:
        """Returns the norm, and keeps what its gradient needs."""
        hidden_BTD, branch_BTD = hidden_BTD.contiguous(), branch_BTD.contiguous()
        normed_BTD, distance_BTD = torch.empty_like(hidden_BTD), torch.empty_like(hidden_BTD)
        scale_BT = hidden_BTD.new_empty(hidden_BTD.shape[:-1])
        fields = fields_of(distance_BTD, scale_BT, gain_D, fixed.draws)
        fields.hidden, fields.branch = hidden_BTD.data_ptr(), branch_BTD.data_ptr()
        fields.shift = None if shift_D is None else shift_D.data_ptr()
        fields.epsilon, fields.normed = fixed.epsilon, normed_BTD.data_ptr()
        kernels: Any = compiled_kernels()
        kernels.residual_forward(byref(fields))
        ctx.save_for_backward(distance_BTD, scale_BT, gain_D)
        ctx.draws, ctx.has_shift = fixed.draws, shift_D is not None
        return normed_BTD

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_BTD: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of both parts of the sum, of the gain and of the shift."""
        distance_BTD, scale_BT, gain_D = ctx.saved_tensors
        gradient_BTD = gradient_BTD.contiguous()
        hidden_gradient_BTD = torch.empty_like(distance_BTD)
        # Where nothing is dropped, both parts have the same.
        branch_gradient_BTD = (
            hidden_gradient_BTD if ctx.draws is None else torch.empty_like(distance_BTD)
        )
        fields = fields_of(distance_BTD, scale_BT, gain_D, ctx.draws)
        gain_and_shift_2ND = gain_D.new_zeros(2, fields.num_threads, fields.width)
        fields.normed_gradient = gradient_BTD.data_ptr()
        fields.hidden_gradient = hidden_gradient_BTD.data_ptr()
        fields.branch_gradient = branch_gradient_BTD.data_ptr()
        fields.gain_gradients = gain_and_shift_2ND[0].data_ptr()
        fields.shift_gradients = gain_and_shift_2ND[1].data_ptr()
        kernels: Any = compiled_kernels()
        kernels.residual_backward(byref(fields))
        gain_gradient_D, shift_gradient_D = gain_and_shift_2ND.sum(dim=1)
        return (
            hidden_gradient_BTD,
            branch_gradient_BTD,
            gain_gradient_D,
            shift_gradient_D if ctx.has_shift else None,
            None,
        )


def fields_of(
    distance_BTD: Tensor, scale_BT: Tensor, gain_D: Tensor, draws: Draws | None
) -> ResidualFields:
    """Returns what both directions tell the compiled code."""
    fields = ResidualFields(
        distances=distance_BTD.data_ptr(),
        scales=scale_BT.data_ptr(),
        gain=gain_D.data_ptr(),
        num_rows=scale_BT.numel(),
        width=len(gain_D),
        num_threads=torch.get_num_threads(),
    )
    if draws is not None:
        fields.draws = draws.draw.data_ptr()
        fields.lowest_kept, fields.kept_factor = draws.lowest_kept, draws.kept_factor
    return fields
