"""Batches of examples of like length: a budget of tokens each, and hardly any padding.

Examples are sorted by length and cut into batches at the best places, found by dynamic programming
(as lines of a paragraph are broken: Knuth and Plass, 1981): as few batches as keep padding low.
All batches of an epoch are known at once, so any step of it can be asked for.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headstart.errors import DataError
from headstart.randomness import derive_seed

# How far a length may be misjudged when examples are sorted, so that epochs mix differently: by
# this share of it, and short ones by so many tokens.
JITTER, NUM_JITTER_TOKENS = 0.03, 2
# Padding that more batches are made to avoid, how many more at most, and the prices of a batch, in
# budgets, to try for that.
MOST_PADDING, MOST_MORE_BATCHES = 0.05, 1.6
BATCH_PRICES = (1.0, 1 / 8, 1 / 16, 1 / 32, 1 / 64)

Lengths = NDArray[np.int64]


def bucketed(
    lengths: Sequence[int], tokens_per_batch: int, seed: int, epoch: int
) -> list[list[int]]:
    """Returns the indices of each batch of an epoch, no batch above its budget once padded."""
    sides = np.array(lengths, dtype=np.int64)[None]
    check_lengths(sides, tokens_per_batch, "example")
    generator = np.random.default_rng(derive_seed(seed, "bucketing", epoch))
    order = np.argsort(misjudged(sides[0], generator), kind="stable")
    return shuffled_batches(sides, order, tokens_per_batch, generator)


def bucketed_by_count(
    lengths: Sequence[int], num_per_batch: int, seed: int, epoch: int
) -> list[list[int]]:
    """Returns the indices of each batch of an epoch: as many in each, of like length.

    Every epoch has the same number of batches, whose sizes differ by one at most.
    """
    generator = np.random.default_rng(derive_seed(seed, "bucketing by count", epoch))
    order = np.argsort(misjudged(np.array(lengths, dtype=np.int64), generator), kind="stable")
    # A rest of few would have the longest examples weigh most, in every epoch.
    num_batches = -(-len(order) // num_per_batch)
    batches = [part.tolist() for part in np.array_split(order, num_batches)] if num_batches else []
    return [batches[place] for place in generator.permutation(len(batches))]


def bucketed_pairs(
    source_lengths: Sequence[int],
    target_lengths: Sequence[int],
    tokens_per_batch: int,
    seed: int,
    epoch: int,
) -> list[list[int]]:
    """Returns the indices of each batch of pairs, neither side above the budget once padded."""
    sides = np.array([source_lengths, target_lengths], dtype=np.int64)
    check_lengths(sides, tokens_per_batch, "side of a pair")
    generator = np.random.default_rng(derive_seed(seed, "bucketing pairs", epoch))
    # By the longer side, which fills the batch; of equal ones by the other.
    longer, shorter = (misjudged(side, generator) for side in (sides.max(0), sides.min(0)))
    order = np.lexsort((shorter, longer))
    return shuffled_batches(sides, order, tokens_per_batch, generator)


def misjudged(lengths: Lengths, generator: np.random.Generator) -> NDArray[np.float64]:
    """Returns lengths a little off, differently each epoch."""
    most_off = np.maximum(JITTER * lengths, NUM_JITTER_TOKENS)
    off: NDArray[np.float64] = lengths + most_off * generator.random(len(lengths))
    return off


def check_lengths(sides: Lengths, tokens_per_batch: int, what: str) -> None:
    """Raises an error where something is too long for any batch."""
    longest = int(sides.max(initial=0))
    if longest > tokens_per_batch:
        raise DataError(
            f"The longest {what} has {longest:,} tokens, but a batch has room for "
            f"{tokens_per_batch:,}. Cut long texts, or allow larger batches."
        )


def pair_sides(
    source_lengths: Sequence[int] | Lengths,
    target_lengths: Sequence[int] | Lengths,
    tokens_per_batch: int,
) -> Lengths:
    """Returns the lengths of both sides of pairs, of which any fits a batch. Shape (2, pairs)."""
    sides = np.array([source_lengths, target_lengths], dtype=np.int64)
    if not sides.size:
        raise DataError("There are no pairs to make batches of. Give at least one.")
    check_lengths(sides, tokens_per_batch, "side of a pair")
    return sides


def shuffled_batches(
    sides: Lengths, order: NDArray[np.int64], tokens_per_batch: int, generator: np.random.Generator
) -> list[list[int]]:
    """Cuts sorted examples into batches and returns those in no order."""
    ordered = sides[:, order]
    batches: list[list[int]] = []
    num_fewest = 0
    for price in BATCH_PRICES:
        borders = best_borders(ordered, tokens_per_batch, price * tokens_per_batch)
        if len(borders) + 1 > MOST_MORE_BATCHES * (num_fewest or len(borders) + 1):
            break
        batches = [part.tolist() for part in np.split(order, borders)]
        num_fewest = num_fewest or len(batches)
        # Pairs differ in two lengths at once: what sorting cannot mend, more batches would not.
        if len(sides) > 1 or padding_share(sides[0], batches) < MOST_PADDING:
            break
    shuffle = generator.permutation(len(batches))
    return [batches[place] for place in shuffle if batches[place]]


def best_borders(sides: Lengths, tokens_per_batch: int, price: float) -> list[int]:
    """Returns where to cut a row of examples, so that padded tokens and batches cost least."""
    num_examples = sides.shape[1]
    costs = np.zeros(num_examples + 1)
    start_of = np.zeros(num_examples + 1, dtype=np.int64)
    first = 0
    for end in range(1, num_examples + 1):
        # For each beginning of a last batch, the latest first: how wide each side must be.
        widths = np.maximum.accumulate(sides[:, first:end][:, ::-1], axis=1)
        padded = widths * np.arange(1, end - first + 1)
        num_fitting = int(np.searchsorted(padded.max(axis=0), tokens_per_batch, side="right"))
        first = end - num_fitting
        total = costs[first:end][::-1] + padded[:, :num_fitting].sum(axis=0)
        best = int(np.argmin(total))
        costs[end] = total[best] + price
        start_of[end] = end - 1 - best
    borders = []
    end = int(start_of[num_examples])
    while end > 0:
        borders.append(end)
        end = int(start_of[end])
    return borders[::-1]


def padding_share(lengths: Sequence[int] | Lengths, batches: Sequence[Sequence[int]]) -> float:
    """Returns the share of padding among all positions of batches."""
    rows = [[int(lengths[index]) for index in batch] for batch in batches if batch]
    num_positions = sum(max(row) * len(row) for row in rows)
    return 1 - sum(map(sum, rows)) / num_positions if num_positions else 0.0
