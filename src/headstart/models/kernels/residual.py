"""The compiled residual of `residual.c`: what it is called with."""

import ctypes
from ctypes import c_float, c_size_t, c_void_p
from typing import Any

from headstart.models.kernels.declaring import declare
from headstart.models.kernels.dropout import DroppingFields


class ResidualFields(ctypes.Structure):
    """`Residual` of `residual.c`."""

    _fields_ = (
        ("hidden", c_void_p),
        ("branch", c_void_p),
        ("bias", c_void_p),
        ("dropping", DroppingFields),
        ("gain", c_void_p),
        ("shift", c_void_p),
        ("epsilon", c_float),
        ("normed", c_void_p),
        ("distances", c_void_p),
        ("scales", c_void_p),
        ("normed_gradient", c_void_p),
        ("hidden_gradient", c_void_p),
        ("branch_gradient", c_void_p),
        ("gain_gradients", c_void_p),
        ("shift_gradients", c_void_p),
        ("bias_gradients", c_void_p),
        ("num_rows", c_size_t),
        ("width", c_size_t),
        ("num_parts", c_size_t),
    )


def declare_residual(library: Any) -> bool:
    """Says of each function what it takes and returns; returns whether their fields are these."""
    return declare(
        library, ResidualFields, "residual_size", ("residual_forward", "residual_backward")
    )
