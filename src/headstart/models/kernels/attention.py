"""The compiled attention of `attention.c`: what it is called with."""

import ctypes
from ctypes import c_int, c_size_t, c_void_p
from typing import Any

from headstart.models.kernels.declaring import declare


class BatchFields(ctypes.Structure):
    """`Batch` of `attention.c`."""

    _fields_ = (
        ("joint", c_void_p),
        ("bias", c_void_p),
        ("lengths", c_void_p),
        ("mixed", c_void_p),
        ("log_totals", c_void_p),
        ("mixed_gradient", c_void_p),
        ("joint_gradient", c_void_p),
        ("bias_gradients", c_void_p),
        ("num_texts", c_size_t),
        ("num_positions", c_size_t),
        ("num_heads", c_size_t),
        ("head_width", c_size_t),
        ("scratch", c_void_p),
        ("num_threads", c_size_t),
        ("is_causal", c_int),
    )


def declare_attention(library: Any) -> bool:
    """Says of each function what it takes and returns; returns whether their fields are these."""
    library.thread_scratch_size.argtypes = (c_size_t, c_size_t)
    library.thread_scratch_size.restype = c_size_t
    library.has_threads.argtypes, library.has_threads.restype = (), c_int
    return declare(library, BatchFields, "batch_size", ("attend_forward", "attend_backward"))
