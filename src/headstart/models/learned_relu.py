"""Bias and ReLU by compiled code, in place, where a processor learns in single precision.

Legend: N positions of all rows, F inner width.
"""

from ctypes import byref

import torch
from torch import Tensor

from headstart.models.kernels.library import address_of, kernels_in_use
from headstart.models.kernels.relu import ReluFields


def bend(inner_NF: Tensor, bias_F: Tensor | None) -> None:
    """Adds a bias to each row, and sets to zero what is below."""
    fields = _fields(inner_NF)
    fields.bias = address_of(bias_F)
    kernels_in_use().relu_forward(byref(fields))


def unbend(bent_NF: Tensor, gradient_NF: Tensor) -> Tensor:
    """Makes the gradient of what is bent that of what was, and returns that of the bias."""
    fields = _fields(bent_NF)
    sums_PF = gradient_NF.new_zeros(fields.num_parts, fields.width)
    fields.gradient, fields.bias_gradients = gradient_NF.data_ptr(), sums_PF.data_ptr()
    kernels_in_use().relu_backward(byref(fields))
    return sums_PF.sum(dim=0)


def _fields(rows_NF: Tensor) -> ReluFields:
    """Returns what both directions tell the compiled code."""
    num_rows, width = rows_NF.shape
    return ReluFields(
        rows=rows_NF.data_ptr(),
        num_rows=num_rows,
        width=width,
        num_parts=torch.get_num_threads(),
    )
