"""Batches of pairs in few shapes, so that a GPU may record the step of each and play it again.

Pairs are parted by the length of their longer side, at the best places, found by dynamic
programming. All batches of a part have one shape; the few rows that are missing are padding.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.batches.bucketing import Lengths, pair_sides
from headstart.randomness import derive_seed

# Each shape is recorded by itself, which takes a moment and some memory.
MOST_SHAPES = 30
# What a batch and a part cost beyond their positions, in budgets: full batches are worth a little
# padding, and a part of few batches brings the same pairs together time and again.
BATCH_PRICE, PART_PRICE = 0.2, 0.2

Costs = NDArray[np.float64]


class PairShape(NamedTuple):
    """The rows of a batch, and the lengths that both sides are padded to."""

    num_rows: int
    source_length: int
    target_length: int


class Part(NamedTuple):
    """Pairs whose batches all have one shape."""

    pairs: Lengths
    num_batches: int
    shape: PairShape


class ShapedPairBatches:
    """The pairs of every step, by the seed, and the shape of each step."""

    def __init__(
        self,
        source_lengths: Sequence[int] | Lengths,
        target_lengths: Sequence[int] | Lengths,
        tokens_per_batch: int,
        seed: int,
    ) -> None:
        self.seed = seed
        sides = pair_sides(source_lengths, target_lengths, tokens_per_batch)
        self.parts = parted(sides, tokens_per_batch)
        self._order = lru_cache(maxsize=2)(self._new_order)

    @property
    def steps_per_epoch(self) -> int:
        """The batches in which every pair is read once."""
        return sum(part.num_batches for part in self.parts)

    def at(self, step: int) -> list[int]:
        """Returns the pairs of a step."""
        return self._place(step)[1]

    def shape_at(self, step: int) -> PairShape:
        """Returns the shape of a step, of which its pairs may leave a row empty."""
        return self._place(step)[0]

    def _place(self, step: int) -> tuple[PairShape, list[int]]:
        """Returns the shape and the pairs of a step."""
        epoch, place = divmod(step, self.steps_per_epoch)
        return self._order(epoch)[place]

    def _new_order(self, epoch: int) -> list[tuple[PairShape, list[int]]]:
        """Returns the batches of an epoch in no order."""
        generator = np.random.default_rng(derive_seed(self.seed, "shaped pairs", epoch))
        batches = [
            (part.shape, batch.tolist())
            for part in self.parts
            for batch in np.array_split(generator.permutation(part.pairs), part.num_batches)
        ]
        return [batches[place] for place in generator.permutation(len(batches))]


def parted(sides: Lengths, tokens_per_batch: int) -> list[Part]:
    """Cuts pairs into parts by their longer side, the shorter ones first."""
    longer = sides.max(0)
    lengths, number_of, counts = np.unique(longer, return_inverse=True, return_counts=True)
    widths = np.zeros((2, len(lengths)), dtype=np.int64)
    for width, side in zip(widths, sides, strict=True):
        np.maximum.at(width, number_of, side)
    ends = best_ends(part_costs(lengths, widths, counts, tokens_per_batch))
    parts = []
    for begin, end in zip([0, *ends], ends, strict=False):
        pairs = np.flatnonzero((number_of >= begin) & (number_of < end))
        num_batches, num_rows = (
            int(number)
            for number in spread(np.array(len(pairs)), lengths[end - 1], tokens_per_batch)
        )
        source, target = widths[:, begin:end].max(1).tolist()
        parts.append(Part(pairs, num_batches, PairShape(num_rows, source, target)))
    return parts


def spread(num_pairs: Lengths, length: int, tokens_per_batch: int) -> tuple[Lengths, Lengths]:
    """Returns into how many batches pairs go, and the rows of each; one may lack a few."""
    num_batches = -(-num_pairs // (tokens_per_batch // length))
    return num_batches, -(-num_pairs // num_batches)


def part_costs(
    lengths: Lengths, widths: Lengths, counts: Lengths, tokens_per_batch: int
) -> list[Costs]:
    """Returns, for each length that a part may end with, what it costs by where it begins."""
    costs = []
    for end, length in enumerate(lengths.tolist(), start=1):
        # From the longest to the shortest, and then the other way round.
        num_pairs = counts[:end][::-1].cumsum()[::-1]
        both = np.maximum.accumulate(widths[:, :end][:, ::-1], axis=1)[:, ::-1].sum(0)
        num_batches, num_rows = spread(num_pairs, length, tokens_per_batch)
        price = (BATCH_PRICE * num_batches + PART_PRICE) * tokens_per_batch
        costs.append(num_batches * num_rows * both + price)
    return costs


def best_ends(costs: Sequence[Costs]) -> list[int]:
    """Returns behind which lengths the parts end that cost least together, in few parts."""
    num_lengths = len(costs)
    best = np.full((min(MOST_SHAPES, num_lengths) + 1, num_lengths + 1), np.inf)
    begin_of = np.zeros(best.shape, dtype=np.int64)
    best[0, 0] = 0
    for num_parts in range(1, len(best)):
        for end, cost in enumerate(costs, start=1):
            total = best[num_parts - 1, :end] + cost
            begin = int(np.argmin(total))
            best[num_parts, end], begin_of[num_parts, end] = total[begin], begin
    ends = []
    num_parts, end = int(np.argmin(best[:, num_lengths])), num_lengths
    while end > 0:
        ends.append(end)
        num_parts, end = num_parts - 1, int(begin_of[num_parts, end])
    return ends[::-1]
