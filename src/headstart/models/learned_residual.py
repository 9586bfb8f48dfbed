"""Bias, dropout, residual sum and norm in one pass, where a processor learns in single precision.

PyTorch passes over memory for each of them, forward and backward, and makes numbers of which were
dropped; `kernels/residual.c` passes once, and drops as `learned_dropout.py` does.

Legend: N positions of all rows, D width; ... stands for one axis of positions or several.
"""

from ctypes import byref
from typing import NamedTuple

import torch
from torch import Tensor

from headstart.models.kernels.library import address_of, kernels_in_use
from headstart.models.kernels.residual import ResidualFields
from headstart.models.learned_dropout import NONE_DROPPED, Dropping


class Norming(NamedTuple):
    """What a sum is made of beside its two parts, and how it is normed."""

    bias_D: Tensor | None
    """What is added to the branch before numbers of it are dropped."""
    dropping: Dropping
    gain_D: Tensor
    shift_D: Tensor | None
    epsilon: float


class NormedSum(NamedTuple):
    """The norm of a sum, and what the gradient of it needs."""

    normed: Tensor
    """Shape (..., D)."""
    distance_ND: Tensor
    """How far each number was from the mean of its vector, to scale."""
    scale_N: Tensor


class SumGradients(NamedTuple):
    """The gradients of what a sum was made of and normed by."""

    hidden_ND: Tensor
    branch_ND: Tensor
    gain_D: Tensor
    shift_D: Tensor
    bias_D: Tensor


def normed_sum(hidden: Tensor, branch_ND: Tensor, norming: Norming) -> NormedSum:
    """Returns the norm of the sum of vectors (..., D) and what is left of those of a branch.

    The branch is given away: in its place are the distances.
    """
    found = NormedSum(torch.empty_like(hidden), branch_ND, hidden.new_empty(len(branch_ND)))
    fields = _fields(found.distance_ND, found.scale_N, norming)
    fields.hidden, fields.branch = hidden.data_ptr(), branch_ND.data_ptr()
    fields.normed = found.normed.data_ptr()
    kernels_in_use().residual_forward(byref(fields))
    return found


def unnormed(
    gradient_ND: Tensor, distance_ND: Tensor, scale_N: Tensor, norming: Norming
) -> SumGradients:
    """Returns the gradients of a sum's parts, and of what it was normed by."""
    hidden_gradient_ND = torch.empty_like(distance_ND)
    # Where nothing is dropped, both parts have the same.
    branch_gradient_ND = (
        hidden_gradient_ND if norming.dropping is NONE_DROPPED else torch.empty_like(distance_ND)
    )
    fields = _fields(distance_ND, scale_N, norming)
    sums_3PD = gradient_ND.new_zeros(3, fields.num_parts, fields.width)
    fields.normed_gradient = gradient_ND.data_ptr()
    fields.hidden_gradient = hidden_gradient_ND.data_ptr()
    fields.branch_gradient = branch_gradient_ND.data_ptr()
    fields.gain_gradients, fields.shift_gradients, fields.bias_gradients = (
        sums_PD.data_ptr() for sums_PD in sums_3PD
    )
    kernels_in_use().residual_backward(byref(fields))
    return SumGradients(hidden_gradient_ND, branch_gradient_ND, *sums_3PD.sum(dim=1))


def _fields(distance_ND: Tensor, scale_N: Tensor, norming: Norming) -> ResidualFields:
    """Returns what both directions tell the compiled code."""
    return ResidualFields(
        bias=address_of(norming.bias_D),
        dropping=norming.dropping,
        gain=norming.gain_D.data_ptr(),
        shift=address_of(norming.shift_D),
        epsilon=norming.epsilon,
        distances=distance_ND.data_ptr(),
        scales=scale_N.data_ptr(),
        num_rows=len(distance_ND),
        width=len(norming.gain_D),
        num_parts=torch.get_num_threads(),
    )
