"""What Python must know of compiled functions before it calls them."""

import ctypes
from collections.abc import Iterable
from ctypes import POINTER, c_size_t
from typing import Any


def declare(
    library: Any, fields: type[ctypes.Structure], size: str, functions: Iterable[str]
) -> bool:
    """Says of functions that they take one structure; returns whether its fields are these.

    The library says by a function of its own how large it thinks the structure is.
    """
    for name in functions:
        function = getattr(library, name)
        function.argtypes, function.restype = (POINTER(fields),), None
    size_of_theirs = getattr(library, size)
    size_of_theirs.argtypes, size_of_theirs.restype = (), c_size_t
    return bool(size_of_theirs() == ctypes.sizeof(fields))
