"""The compiled pass over a vocabulary of `vocabulary.c`: what it is called with."""

import ctypes
from ctypes import c_float, c_int, c_size_t, c_void_p
from typing import Any

from headstart.models.kernels.declaring import declare


class VocabularyFields(ctypes.Structure):
    """`Vocabulary` of `vocabulary.c`."""

    _fields_ = (
        ("logits", c_void_p),
        ("bias", c_void_p),
        ("targets", c_void_p),
        ("counted", c_void_p),
        ("losses", c_void_p),
        ("bias_gradients", c_void_p),
        ("scratch", c_void_p),
        ("smoothing", c_float),
        ("is_half", c_int),
        ("is_learning", c_int),
        ("num_rows", c_size_t),
        ("num_pieces", c_size_t),
        ("row_size", c_size_t),
        ("num_parts", c_size_t),
    )


def declare_vocabulary(library: Any) -> bool:
    """Says of each function what it takes and returns; returns whether their fields are these."""
    return declare(library, VocabularyFields, "vocabulary_size", ("answer",))
