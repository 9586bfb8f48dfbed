"""The compiled ReLU of `relu.c`: what it is called with."""

import ctypes
from ctypes import c_size_t, c_void_p
from typing import Any

from headstart.models.kernels.declaring import declare


class ReluFields(ctypes.Structure):
    """`Relu` of `relu.c`."""

    _fields_ = (
        ("rows", c_void_p),
        ("bias", c_void_p),
        ("gradient", c_void_p),
        ("bias_gradients", c_void_p),
        ("num_rows", c_size_t),
        ("width", c_size_t),
        ("num_parts", c_size_t),
    )


def declare_relu(library: Any) -> bool:
    """Says of each function what it takes and returns; returns whether their fields are these."""
    return declare(library, ReluFields, "relu_size", ("relu_forward", "relu_backward"))
