"""The compiled trunk of `rows.c`: what it is called with."""

import ctypes
from ctypes import POINTER, c_float, c_int, c_size_t, c_void_p
from typing import Any

# The activations in the order of their numbers.
ACTIVATIONS = ("relu", "gelu", "gated-silu")


class ProductFields(ctypes.Structure):
    """`Product` of `rows.c`."""

    _fields_ = (
        ("panels", c_void_p),
        ("bias", c_void_p),
        ("depth", c_size_t),
        ("num_columns", c_size_t),
    )


class NormFields(ctypes.Structure):
    """`Norm` of `rows.c`."""

    _fields_ = (
        ("gain", c_void_p),
        ("shift", c_void_p),
        ("epsilon", c_float),
        ("is_centred", c_int),
    )


class LayerFields(ctypes.Structure):
    """`Layer` of `rows.c`."""

    _fields_ = (
        ("query", ProductFields),
        ("key_value", ProductFields),
        ("attention_output", ProductFields),
        ("inner", ProductFields),
        ("output", ProductFields),
        ("attention_norm", NormFields),
        ("feed_forward_norm", NormFields),
    )


class TrunkFields(ctypes.Structure):
    """`Trunk` of `rows.c`."""

    _fields_ = (
        ("pieces", c_void_p),
        ("added", c_void_p),
        ("cosines", c_void_p),
        ("sines", c_void_p),
        ("layers", POINTER(LayerFields)),
        ("num_pieces", c_size_t),
        ("width", c_size_t),
        ("num_layers", c_size_t),
        ("num_heads", c_size_t),
        ("embedding_norm", NormFields),
        ("norm", NormFields),
        ("piece_scale", c_float),
        ("is_pre_norm", c_int),
        ("is_causal", c_int),
        ("activation", c_int),
    )


def declare_rows(library: Any) -> bool:
    """Says of each function what it takes and returns; returns whether their fields are these."""
    for name in ("panel_width", "layer_size", "trunk_size"):
        function = getattr(library, name)
        function.argtypes, function.restype = (), c_size_t
    library.scratch_size.argtypes = (POINTER(TrunkFields), c_size_t)
    library.scratch_size.restype = c_size_t
    library.read_text.argtypes = (
        POINTER(TrunkFields),
        c_void_p,
        c_size_t,
        c_size_t,
        c_size_t,
        c_void_p,
        c_void_p,
    )
    library.read_text.restype = c_int
    sizes = ctypes.sizeof(LayerFields), ctypes.sizeof(TrunkFields)
    return (library.layer_size(), library.trunk_size()) == sizes
