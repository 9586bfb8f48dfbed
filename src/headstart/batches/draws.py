"""Draws for many numbers at once, each a function of a seed, a purpose and its number alone."""

import numpy as np
from numpy.typing import NDArray

from headstart.randomness import derive_seed

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def drawn(numbers: NDArray[np.int64], seed: int, *purpose: str | int) -> NDArray[np.uint64]:
    """Returns 64 bits for each number, the same whenever and beside whatever it is asked for."""
    before, after = (np.uint64(derive_seed(seed, "draw", *purpose, turn)) for turn in range(2))
    return mixed(mixed(numbers.astype(np.uint64) ^ before) ^ after)


def mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scrambles numbers so that any bit of one changes about half the bits of the other."""
    values = (values ^ (values >> np.uint64(31))) * MULTIPLIER
    values = (values ^ (values >> np.uint64(29))) * MULTIPLIER
    return values ^ (values >> np.uint64(32))
