"""A shuffled order that is computed, not held: any place of it can be asked for at once."""

import numpy as np
from numpy.typing import NDArray

from headstart.batches.draws import mixed
from headstart.errors import DataError
from headstart.randomness import derive_seed

NUM_ROUNDS = 4


def permuted(
    places: NDArray[np.int64], size: int, seed: int, *purpose: str | int
) -> NDArray[np.int64]:
    """Returns what stands at each place of a shuffled 0 to `size` - 1.

    A Feistel network shuffles the next even power of two; what falls outside is shuffled again
    until it falls inside, which takes fewer than four turns on average.
    """
    if (outside := places[(places < 0) | (places >= size)]).size:
        raise DataError(
            f"Place {int(outside[0]):,} was asked for in an order of {size:,}; places are counted "
            "from 0."
        )
    num_half_bits = max(1, ((size - 1).bit_length() + 1) // 2)
    keys = [
        np.uint64(derive_seed(seed, "permutation", *purpose, turn)) for turn in range(NUM_ROUNDS)
    ]
    values = encrypted(places.astype(np.uint64), num_half_bits, keys)
    while (is_outside := values >= size).any():
        values[is_outside] = encrypted(values[is_outside], num_half_bits, keys)
    return values.astype(np.int64)


def encrypted(
    values: NDArray[np.uint64], num_half_bits: int, keys: list[np.uint64]
) -> NDArray[np.uint64]:
    """Shuffles the numbers of twice so many bits, each to exactly one other."""
    shift, mask = np.uint64(num_half_bits), np.uint64((1 << num_half_bits) - 1)
    left, right = values >> shift, values & mask
    for key in keys:
        left, right = right, left ^ (mixed(right ^ key) & mask)
    return (left << shift) | right
