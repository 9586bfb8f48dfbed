"""The compiled steps of `moved_rows.c`: what they are called with."""

import ctypes
from ctypes import c_float, c_size_t, c_void_p
from typing import Any

from headstart.models.kernels.declaring import declare


class MovedRowsFields(ctypes.Structure):
    """`MovedRows` of `moved_rows.c`."""

    _fields_ = (
        ("table", c_void_p),
        ("means", c_void_p),
        ("squares", c_void_p),
        ("rows", c_void_p),
        ("gradient", c_void_p),
        ("glides", c_void_p),
        ("corrections", c_void_p),
        ("weights_left", c_void_p),
        ("means_left", c_void_p),
        ("squares_left", c_void_p),
        ("weight_left", c_float),
        ("square_left", c_float),
        ("mean_share", c_float),
        ("square_share", c_float),
        ("correction", c_float),
        ("rate", c_float),
        ("epsilon", c_float),
        ("num_rows", c_size_t),
        ("width", c_size_t),
        ("num_parts", c_size_t),
    )


def declare_moved_rows(library: Any) -> bool:
    """Says of each function what it takes and returns; returns whether their fields are these."""
    return declare(library, MovedRowsFields, "moved_rows_size", ("move_rows",))
