"""The compiled trunk of `rows.c`: found beside its source, and what it is called with."""

import ctypes
import logging
from ctypes import POINTER, c_float, c_int, c_size_t, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

import torch

# The processors that it is built for, as PyTorch names them, and the name of each one's file.
FILES = {"AVX512": "rows.avx512.so", "AVX2": "rows.avx2.so"}
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


@cache
def compiled_rows() -> Any | None:
    """Returns the compiled functions; None where there are none, with one line that says so."""
    capability = torch.backends.cpu.get_cpu_capability()
    try:
        if capability not in FILES:
            raise OSError(f"there is none for processors of the kind {capability}")
        return load_rows(Path(__file__).with_name(FILES[capability]))
    except (OSError, AttributeError) as error:  # not built, or from before it had what is asked for
        logging.getLogger(__name__).info("Single texts are read by PyTorch alone: %s", error)
        return None


def load_rows(path: Path) -> Any:
    """Returns the functions of one file, with what each takes and returns."""
    library = ctypes.CDLL(str(path))
    for name in ("panel_width", "layer_size", "trunk_size"):
        function = getattr(library, name)
        function.argtypes, function.restype = (), c_size_t
    sizes = library.layer_size(), library.trunk_size()
    if sizes != (ctypes.sizeof(LayerFields), ctypes.sizeof(TrunkFields)):
        raise OSError(f"{path} was built from another version; install the package again")
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
    return library
