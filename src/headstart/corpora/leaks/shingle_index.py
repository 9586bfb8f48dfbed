"""An inverted index from shingles to the items that have them, and exact overlaps from it.

Shingles are word 3-grams. Gathering candidates must not be quadratic where thousands of items
share a header or a template, so a shingle of more than `NUM_RARE` items leads only to items that
are mostly made of such shingles, and only to the first `NUM_LINKED` of those. Any other item
shares a rare shingle with whatever is similar enough to it, and so no pair with it is missed.
What is missed are pairs with the later instances of a template that has more than `NUM_RARE`.
Overlaps are then counted over all shingles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headstart.corpora.leaks.arrays import Flags, Positions, found_at, rank_in_run, spans
from headstart.corpora.leaks.rows import Rows

NUM_RARE = 100
NUM_LINKED = 10
# Bounds the memory of a step to some tens of megabytes.
NUM_LINKS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Pairs:
    """Texts that ask and items of the index, with a bound or a count of what they share."""

    askers: Positions
    items: Positions
    num_shared: Positions

    def where(self, is_kept: Flags) -> Pairs:
        """Returns the pairs that are marked."""
        return Pairs(self.askers[is_kept], self.items[is_kept], self.num_shared[is_kept])

    def listed(self) -> Iterator[tuple[int, int, int]]:
        """Yields each pair as the numbers of its text and item and of what they share."""
        columns = (self.askers.tolist(), self.items.tolist(), self.num_shared.tolist())
        return zip(*columns, strict=True)


class ShingleIndex:
    """Finds the items that share shingles with a text."""

    def __init__(self, items: Rows, least_share: float) -> None:
        """Indexes sets of shingles; similar means to share at least this much of an item's."""
        self.items = items
        self._vocabulary, ids = np.unique(items.values, return_inverse=True)
        owners = items.owners
        num_items_with = np.bincount(ids, minlength=len(self._vocabulary))
        is_frequent = (num_items_with > NUM_RARE)[ids]
        self.num_frequent = np.bincount(owners[is_frequent], minlength=items.num_rows)
        is_mostly_frequent = self.num_frequent >= least_share * np.maximum(items.sizes, 1)
        self._ids = ids
        order = np.argsort(ids, kind="stable")
        order = order[(~is_frequent | is_mostly_frequent[owners])[order]]
        order = order[~is_frequent[order] | (rank_in_run(ids[order]) < NUM_LINKED)]
        self._linked_items = owners[order]
        num_links = np.bincount(ids[order], minlength=len(self._vocabulary))
        self._link_starts = np.concatenate([[0], np.cumsum(num_links)])

    def known(self, texts: Rows) -> Rows:
        """Returns of each text the shingles that the index has, as the index's ids."""
        ids = found_at(texts.values, self._vocabulary)
        return Rows(ids.astype(np.uint64), texts.starts).where(ids >= 0)

    def candidates(self, texts: Rows) -> Iterator[Pairs]:
        """Yields pairs with the most that they can share; all pairs of a text at once.

        Here and in `verified`, the texts are sets of shingles as `known` returns them.
        """
        ids, owners = texts.values.astype(np.int64), texts.owners
        num_links = self._link_starts[ids + 1] - self._link_starts[ids]
        # A shingle without links is still work for whoever verifies.
        num_before = np.concatenate([[0], np.cumsum(num_links + 1)])[texts.starts]
        for begin, end in runs_of_texts(num_before, NUM_LINKS_AT_ONCE):
            chunk = slice(texts.starts[begin], texts.starts[end])
            links = spans(self._link_starts[ids[chunk]], num_links[chunk])
            askers = np.repeat(owners[chunk], num_links[chunk])
            pairs, num_shared = np.unique(
                askers * self.items.num_rows + self._linked_items[links], return_counts=True
            )
            askers, items = np.divmod(pairs, max(self.items.num_rows, 1))
            most = num_shared + self.num_frequent[items]
            most = np.minimum(most, np.minimum(texts.sizes[askers], self.items.sizes[items]))
            yield Pairs(askers, items, most)

    def verified(self, texts: Rows, pairs: Pairs) -> Pairs:
        """Returns the pairs, which are in the order of their texts, with what they truly share."""
        if not len(pairs.askers):
            return pairs
        # Looked for from the item's side, since a document can be a whole book.
        sizes = self.items.sizes[pairs.items]
        needles = self._ids[spans(self.items.starts[pairs.items], sizes)]
        needles += np.repeat(pairs.askers * len(self._vocabulary), sizes)
        first, last = pairs.askers[0], pairs.askers[-1]
        owners = np.repeat(np.arange(first, last + 1), texts.sizes[first : last + 1])
        ids = texts.values[texts.starts[first] : texts.starts[last + 1]].astype(np.int64)
        is_shared = found_at(needles, owners * len(self._vocabulary) + ids) >= 0
        numbers = np.repeat(np.arange(len(sizes)), sizes)
        num_shared = np.bincount(numbers[is_shared], minlength=len(sizes))
        return Pairs(pairs.askers, pairs.items, num_shared)


def runs_of_texts(num_before: Positions, num_at_once: int) -> Iterator[tuple[int, int]]:
    """Cuts texts, of which each comes after so many links, into runs of about as many."""
    begin, num_texts = 0, len(num_before) - 1
    while begin < num_texts:
        end = int(np.searchsorted(num_before, num_before[begin] + num_at_once, side="right")) - 1
        end = min(max(end, begin + 1), num_texts)
        yield begin, end
        begin = end
