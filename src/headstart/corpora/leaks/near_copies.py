"""Near copies between examples: much the same word 3-grams, though not the same text.

The similarity of two texts is the Jaccard index of their sets of word 3-grams: those they share,
divided by those that either has. A near copy has at least 1/3, which two texts of one length reach
by sharing half of theirs. Changing one word in ten of 30 or more leaves 0.57 on average and 0.41 at
worst; no two of 4,000 book reviews that are not copies have more than 0.14; and between 0.2 and 1/3
stand mostly news and messages with a header or footer in common. At least four shared 3-grams, six
words, are asked for as well, since "text me when you're here" is nobody's copy: shorter texts are
compared exactly, or not at all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from headstart.corpora.leaks.arrays import Positions, rank_in_run
from headstart.corpora.leaks.prepared import Item, PreparedSplit
from headstart.corpora.leaks.rows import Rows
from headstart.corpora.leaks.shingle_index import Pairs, ShingleIndex

LEAST_SIMILARITY = 1 / 3
NUM_LEAST_SHARED = 4
# Of a template with a thousand instances, each is listed with its nearest ones, not with all.
NUM_MOST_SIMILAR = 20

Similarities = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NearCopy:
    """Two items that are nearly the same, with their Jaccard index."""

    similarity: float
    item: Item
    of: Item


@dataclass(frozen=True)
class NearCopies:
    """The items of a split that are near copies of a source's; inside a split, of earlier ones."""

    num_items: int
    """How many items have a near copy; one item may be in several pairs."""
    split: str
    source: str
    pairs: tuple[NearCopy, ...]

    @property
    def is_inside(self) -> bool:
        """Whether a split is compared with itself."""
        return self.split == self.source

    @property
    def indices(self) -> frozenset[int]:
        """The items that have a near copy, by their numbers in the split."""
        return frozenset(pair.item.index for pair in self.pairs)


def near_copies(splits: Sequence[PreparedSplit]) -> tuple[NearCopies, ...]:
    """Compares each split with itself and with those before it; exact copies are not repeated.

    Of items that are exact copies of each other, only the first stands for a source.
    """
    found: dict[tuple[str, str], NearCopies] = {}
    for number, source in enumerate(splits):
        firsts = source.shingles.where(np.repeat(source.is_first, source.shingles.sizes))
        index = ShingleIndex(firsts, LEAST_SIMILARITY)
        for split in splits[number:]:
            texts = firsts if split is source else split.shingles
            similar = similar_pairs(index, texts, is_inside=split is source)
            pairs = tuple(chain.from_iterable(listed(split, source, part) for part in similar))
            num_items = len({pair.item.index for pair in pairs})
            found[split.name, source.name] = NearCopies(num_items, split.name, source.name, pairs)
    return tuple(
        found[split.name, source.name]
        for number, split in enumerate(splits)
        for source in splits[: number + 1]
    )


def similar_pairs(index: ShingleIndex, texts: Rows, *, is_inside: bool) -> Iterator[Pairs]:
    """Yields the pairs that are similar enough, each once."""
    known = index.known(texts)
    for pairs in index.candidates(known):
        if is_inside:
            pairs = pairs.where(pairs.items < pairs.askers)
        pairs = nearest(similar_enough(pairs, index, texts.sizes), index, texts.sizes)
        yield similar_enough(index.verified(known, pairs), index, texts.sizes)


def jaccard(pairs: Pairs, item_sizes: Positions, asker_sizes: Positions) -> Similarities:
    """Returns the shared shingles of pairs divided by those that either has."""
    num_either = asker_sizes[pairs.askers] + item_sizes[pairs.items] - pairs.num_shared
    similarities: Similarities = pairs.num_shared / np.maximum(num_either, 1)
    return similarities


def similar_enough(pairs: Pairs, index: ShingleIndex, sizes: Positions) -> Pairs:
    """Returns the pairs that are near copies, if they share as much as they say."""
    is_similar = jaccard(pairs, index.items.sizes, sizes) >= LEAST_SIMILARITY
    return pairs.where(is_similar & (pairs.num_shared >= NUM_LEAST_SHARED))


def nearest(pairs: Pairs, index: ShingleIndex, sizes: Positions) -> Pairs:
    """Returns the most similar pairs of each text."""
    order = np.lexsort((pairs.items, -jaccard(pairs, index.items.sizes, sizes), pairs.askers))
    is_near = rank_in_run(pairs.askers[order]) < NUM_MOST_SIMILAR
    chosen = np.zeros(len(order), dtype=np.bool_)
    chosen[order[is_near]] = True
    return pairs.where(chosen)


def listed(split: PreparedSplit, source: PreparedSplit, pairs: Pairs) -> Iterator[NearCopy]:
    """Yields pairs as records, by item and then by similarity, without exact copies."""
    similarities = jaccard(pairs, source.shingles.sizes, split.shingles.sizes)
    for number in np.lexsort((pairs.items, -similarities, pairs.askers)):
        index, of = int(pairs.askers[number]), int(pairs.items[number])
        if split.fingerprints[index] != source.fingerprints[of]:
            yield NearCopy(float(similarities[number]), split.item(index), source.item(of))
