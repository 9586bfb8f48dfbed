"""The compiled dropout of `dropout.c`: what it is called with."""

import ctypes
from ctypes import c_float, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

from headstart.models.kernels.declaring import declare


class DroppingFields(ctypes.Structure):
    """`Dropping` of `draws.h`."""

    _fields_ = (("seed", c_uint64), ("lowest_kept", c_uint32), ("kept_factor", c_float))


class DroppedFields(ctypes.Structure):
    """`Dropped` of `dropout.c`."""

    _fields_ = (
        ("numbers", c_void_p),
        ("left", c_void_p),
        ("dropping", DroppingFields),
        ("num_numbers", c_size_t),
        ("num_parts", c_size_t),
    )


def declare_dropout(library: Any) -> bool:
    """Says of each function what it takes and returns; returns whether their fields are these."""
    return declare(library, DroppedFields, "dropped_size", ("drop",))
