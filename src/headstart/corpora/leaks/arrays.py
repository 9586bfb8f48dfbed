"""The questions that the comparisons ask of whole arrays at once."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Integer = TypeVar("Integer", np.uint64, np.int64)


def found_at(needles: npt.NDArray[Integer], haystack: npt.NDArray[Integer]) -> Positions:
    """Returns where a sorted array of distinct numbers has each needle, or -1 where it has not."""
    if not len(haystack):
        return np.full(len(needles), -1)
    positions = np.searchsorted(haystack, needles)
    positions[positions == len(haystack)] = 0
    positions[haystack[positions] != needles] = -1
    return positions


def rank_in_run(values: Positions) -> Positions:
    """Returns how many equal values stand right before each value."""
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    begins = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    lengths = np.diff(np.append(begins, len(values)))
    return np.arange(len(values)) - np.repeat(begins, lengths)


def spans(starts: Positions, sizes: Positions) -> Positions:
    """Returns the numbers from each start on, as many as its size, one span after the other."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)
