"""What the C library does with memory that tensors give back: keep it for the next, or return it.

By default glibc returns large blocks and asks for them again at every step; where the logits are
large, a third of a step's time and more goes into fresh pages (docs/log.md).
"""

import contextlib
import ctypes

# glibc's numbers for its settings, from malloc.h; other C libraries have no such call.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX = -1, -3, -4
NEVER = -1
NUM_SMALLEST_RETURNED_BYTES = 1 << 16


def keep_freed_memory() -> None:
    """Has the C library keep what tensors give back, so that the next step need not ask for it."""
    set_option(M_MMAP_MAX, 0)
    set_option(M_TRIM_THRESHOLD, NEVER)


def return_freed_memory() -> None:
    """Has the C library give freed tensors back at once, so that a peak is what is held."""
    set_option(M_MMAP_THRESHOLD, NUM_SMALLEST_RETURNED_BYTES)


def set_option(option: int, value: int) -> None:
    """Changes a setting of the C library, where it has one."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(option, value)
