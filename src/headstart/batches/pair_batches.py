"""Batches of pairs for any epoch at once: always as many, and each as large in every epoch.

Where sorted pairs are cut is found once, for lengths as far off as they can be misjudged; epochs
mix differently, and no batch is ever above its budget.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from headstart.batches.bucketing import (
    JITTER,
    NUM_JITTER_TOKENS,
    Lengths,
    best_borders,
    misjudged,
    pair_sides,
)
from headstart.randomness import derive_seed


class PairBatches:
    """The batches of every step, by the seed; neither side is above the budget once padded."""

    def __init__(
        self,
        source_lengths: Sequence[int] | Lengths,
        target_lengths: Sequence[int] | Lengths,
        tokens_per_batch: int,
        seed: int,
    ) -> None:
        self.seed = seed
        # By the longer side, which fills the batch.
        self.longer: Lengths = pair_sides(source_lengths, target_lengths, tokens_per_batch).max(0)
        most_off = np.ceil(np.maximum(JITTER * self.longer, NUM_JITTER_TOKENS)).astype(np.int64)
        # The longest would fit, misjudged or not: it is alone in its batch if need be.
        farthest = np.minimum(np.sort(self.longer + most_off), tokens_per_batch)
        self.borders = best_borders(farthest[None], tokens_per_batch, float(tokens_per_batch))
        self._order = lru_cache(maxsize=2)(self._new_order)

    @property
    def steps_per_epoch(self) -> int:
        """The batches in which every pair is read once."""
        return len(self.borders) + 1

    def at(self, step: int) -> list[int]:
        """Returns the pairs of a step."""
        epoch, place = divmod(step, self.steps_per_epoch)
        return self._order(epoch)[place]

    def _new_order(self, epoch: int) -> list[list[int]]:
        """Returns the batches of an epoch in no order."""
        generator = np.random.default_rng(derive_seed(self.seed, "pairs", epoch))
        order = np.argsort(misjudged(self.longer, generator), kind="stable")
        parts = np.split(order, self.borders)
        return [parts[place].tolist() for place in generator.permutation(len(parts))]
