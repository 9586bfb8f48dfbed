"""Near copies of items in a pretraining corpus: most of an item inside one of its documents.

A document can be much longer than an item, so the similarity is containment: the share of the
item's set of word 3-grams that stand in the document, within a stretch at most twice as long as
the item. Without that bound a whole novel, as one document, would contain half of anything. A near
copy has at least half, which for texts of one length is the Jaccard index of 1/3 that near copies
between examples have, and at least six shared 3-grams, eight words: in a million lines somebody
wrote "nothing new under the sun of" before. Shorter items are compared exactly, or not at all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headstart.corpora.leaks.hashing import WordHashes, fingerprint, ngrams
from headstart.corpora.leaks.prepared import (
    NUM_BATCH_WORDS,
    NUM_SHINGLE_WORDS,
    Item,
    PreparedSplit,
)
from headstart.corpora.leaks.rows import Rows, rows_from
from headstart.corpora.leaks.shingle_index import Pairs, ShingleIndex
from headstart.corpora.leaks.stretches import ShinglePositions
from headstart.corpora.places import Place

LEAST_CONTAINMENT = 1 / 2
NUM_LEAST_SHARED = 6
NUM_ITEM_LENGTHS = 2


@dataclass(frozen=True, slots=True)
class CorpusNearCopy:
    """An item and the document of the corpus that contains most of it, the first of the best."""

    similarity: float
    item: Item
    num_documents: int
    best: Place


@dataclass(frozen=True)
class CorpusNearCopies:
    """The items of a split of which documents of the corpus contain at least half."""

    num_items: int
    split: str
    copies: tuple[CorpusNearCopy, ...]
    is_inside: ClassVar[bool] = False

    @property
    def indices(self) -> frozenset[int]:
        """The items that have a near copy, by their numbers in the split."""
        return frozenset(copy.item.index for copy in self.copies)


@dataclass(slots=True)
class Sighting:
    """What was found of one text so far."""

    similarity: float = 0.0
    num_documents: int = 0
    best: Place | None = None


class CorpusNearCopyFinder:
    """Holds a stream of documents against an index of the items of all splits."""

    def __init__(self, splits: Sequence[PreparedSplit]) -> None:
        self._splits = splits
        # Each text once, whatever the number of items that are exact copies of it.
        shingles_of = {
            mark: split.shingles.row(index)
            for split in splits
            for mark, index in split.first_with.items()
        }
        self._fingerprints = list(shingles_of)
        self._index = ShingleIndex(rows_from(list(shingles_of.values())), LEAST_CONTAINMENT)
        self._hashes = WordHashes()
        self._places: list[Place] = []
        self._texts: list[Sequence[str]] = []
        self._num_words = 0
        self._sightings: dict[bytes, Sighting] = {}

    def see(self, place: Place, words: Sequence[str]) -> None:
        """Takes one document, given as its normalised words; they are compared in batches."""
        if len(words) < NUM_SHINGLE_WORDS:
            return
        self._places.append(place)
        self._texts.append(words)
        self._num_words += len(words)
        if self._num_words >= NUM_BATCH_WORDS:
            self._compare_batch()

    def found(self) -> tuple[CorpusNearCopies, ...]:
        """Returns what was found so far, a record a split."""
        self._compare_batch()
        return tuple(self._found_of(split) for split in self._splits)

    def _compare_batch(self) -> None:
        """Compares the documents that were taken and forgets them."""
        texts = ngrams(self._hashes.rows(self._texts), NUM_SHINGLE_WORDS)
        # Sets only now: few shingles of a corpus are left to be sorted.
        known = self._index.known(texts).distinct()
        for candidates in self._index.candidates(known):
            pairs = self._index.verified(known, self._similar_enough(candidates))
            self._note(self._similar_enough(pairs), texts)
        self._places, self._texts, self._num_words = [], [], 0

    def _similar_enough(self, pairs: Pairs) -> Pairs:
        """Returns the pairs that are near copies, if they share as much as they say."""
        num_least = LEAST_CONTAINMENT * self._index.items.sizes[pairs.items]
        return pairs.where(pairs.num_shared >= np.maximum(num_least, NUM_LEAST_SHARED))

    def _note(self, pairs: Pairs, texts: Rows) -> None:
        """Remembers the pairs of which the item stands in one stretch of the document."""
        fingerprints = {
            asker: fingerprint(self._texts[asker]) for asker in set(pairs.askers.tolist())
        }
        pairs = self._in_one_stretch(pairs, texts)
        for asker, item, num_shared in pairs.listed():
            mark = self._fingerprints[item]
            if mark != fingerprints[asker]:
                similarity = num_shared / len(self._index.items.row(item))
                sighting = self._sightings.setdefault(mark, Sighting())
                sighting.num_documents += 1
                if similarity > sighting.similarity:
                    sighting.similarity, sighting.best = similarity, self._places[asker]

    def _in_one_stretch(self, pairs: Pairs, texts: Rows) -> Pairs:
        """Counts again what long documents share with an item, but close together."""
        lengths = NUM_ITEM_LENGTHS * self._index.items.sizes[pairs.items]
        is_long = texts.sizes[pairs.askers] > lengths
        num_shared = pairs.num_shared.copy()
        positions: tuple[int, ShinglePositions] | None = None
        for number in np.flatnonzero(is_long):
            asker = int(pairs.askers[number])
            # Pairs come by document, so that each is sorted once and one is held.
            if positions is None or positions[0] != asker:
                positions = (asker, ShinglePositions(texts.row(asker)))
            item = self._index.items.row(int(pairs.items[number]))
            num_shared[number] = positions[1].most_in_a_stretch(item, int(lengths[number]))
        return self._similar_enough(Pairs(pairs.askers, pairs.items, num_shared))

    def _found_of(self, split: PreparedSplit) -> CorpusNearCopies:
        """Lists the items of one split that were sighted."""
        copies = tuple(self._records(split))
        return CorpusNearCopies(len(copies), split.name, copies)

    def _records(self, split: PreparedSplit) -> Iterator[CorpusNearCopy]:
        """Yields a record for each item of a split that was sighted, exact copies of it too."""
        for index, mark in enumerate(split.fingerprints):
            seen = self._sightings.get(mark)
            if seen and seen.best:
                yield CorpusNearCopy(
                    seen.similarity, split.item(index), seen.num_documents, seen.best
                )
