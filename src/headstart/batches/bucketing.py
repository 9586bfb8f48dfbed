"""Batches of examples of like length: a budget of tokens each, and hardly any padding."""

from collections.abc import Sequence

import numpy as np

from headstart.errors import DataError
from headstart.randomness import derive_seed

# How far a length may be misjudged when examples are sorted, so that epochs mix differently.
JITTER = 0.03


def bucketed(
    lengths: Sequence[int], tokens_per_batch: int, seed: int, epoch: int
) -> list[list[int]]:
    """Returns the indices of each batch of an epoch, no batch above its budget once padded."""
    longest = max(lengths, default=0)
    if longest > tokens_per_batch:
        raise DataError(
            f"The longest example has {longest:,} tokens, but a batch has room for "
            f"{tokens_per_batch:,}. Cut long texts, or allow larger batches."
        )
    generator = np.random.default_rng(derive_seed(seed, "bucketing", epoch))
    judged = np.array(lengths) * (1 + JITTER * generator.random(len(lengths)))
    batches: list[list[int]] = [[]]
    longest_in_batch = 0
    for index in np.argsort(judged, kind="stable"):
        longest_in_batch = max(longest_in_batch, lengths[index])
        if longest_in_batch * (len(batches[-1]) + 1) > tokens_per_batch:
            batches.append([])
            longest_in_batch = lengths[index]
        batches[-1].append(int(index))
    order = generator.permutation(len(batches))
    return [batches[place] for place in order if batches[place]]


def padding_share(lengths: Sequence[int], batches: Sequence[Sequence[int]]) -> float:
    """Returns the share of padding among all positions of batches."""
    rows = [[lengths[index] for index in batch] for batch in batches]
    num_positions = sum(max(row) * len(row) for row in rows)
    return 1 - sum(map(sum, rows)) / num_positions if num_positions else 0.0
