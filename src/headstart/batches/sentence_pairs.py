"""Pairs of neighbouring sentences, half of them true and half with a stranger's second.

Each pair is a function of seed and number alone, so that any step can be asked for at once.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headstart.batches.permutation import permuted
from headstart.batches.store import TokenStore
from headstart.errors import DataError
from headstart.randomness import derive_seed
from headstart.tokenizers.pieces import END_ID

# Enough pairs to know how long they are, few enough to read at once.
NUM_PAIRS_TRIED = 256
# FIRST before the first sentence, SEPARATOR behind each.
NUM_MARKS = 3
# A piece of each sentence, with the marks.
FEWEST_PIECES = NUM_MARKS + 2


@dataclass(frozen=True)
class SentencePair:
    """Two stretches of sentences, and whether the second followed the first in its document."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    does_follow: bool
    start: int
    """Where the first stretch begins in the store."""

    @property
    def length(self) -> int:
        """The pieces of the pair, with the marks around its sentences."""
        return len(self.first) + len(self.second) + NUM_MARKS


@dataclass(frozen=True)
class SentencePairs:
    """The pairs of a store, each of at most so many pieces."""

    store: TokenStore
    length: int
    seed: int

    def __post_init__(self) -> None:
        if self.length < FEWEST_PIECES:
            raise DataError(
                f"Sequences of {self.length:,} pieces are too short for two sentences and the "
                f"marks around them. Choose a length of at least {FEWEST_PIECES}."
            )
        if len(self.anchors) == 0:
            raise DataError(
                f"None of the {len(self.store.document_starts) - 1:,} documents has two sentences, "
                "which the objective masked+next needs. Give longer documents (for paragraphs or "
                "whole files: --documents), or choose the objective masked."
            )
        if self.anchor_documents[0] == self.anchor_documents[-1]:
            raise DataError(
                "Only one document has two sentences, so that no sentence of another can be set "
                "beside its own. Give more documents, or choose the objective masked."
            )

    @cached_property
    def document_of(self) -> NDArray[np.int64]:
        """The number of each sentence's document."""
        begins = self.store.sentence_starts[:-1]
        return np.searchsorted(self.store.document_starts, begins, side="right") - 1

    @cached_property
    def anchors(self) -> NDArray[np.int64]:
        """The sentences that another follows in the same document."""
        return np.flatnonzero(self.document_of[:-1] == self.document_of[1:])

    @cached_property
    def anchor_documents(self) -> NDArray[np.int64]:
        """The number of each anchor's document; they only grow."""
        return self.document_of[self.anchors]

    @cached_property
    def mean_length(self) -> float:
        """About how many pieces a pair has."""
        # Evenly out of all: the first of a text need not be like the others.
        num_tried = min(NUM_PAIRS_TRIED, len(self.anchors))
        numbers = np.linspace(0, len(self.anchors) - 1, num_tried).astype(np.int64)
        return float(np.mean([self.pair(number, "tried").length for number in numbers.tolist()]))

    def in_epoch(self, numbers: NDArray[np.int64], epoch: int) -> list[SentencePair]:
        """Returns the pairs with these numbers in the order of an epoch."""
        places = permuted(numbers, len(self.anchors), self.seed, "pairs", epoch)
        return [self.pair(place, epoch) for place in places.tolist()]

    def pair(self, number: int, epoch: int | str) -> SentencePair:
        """Returns the pair at an anchor; its second half is true or not as the draw wills."""
        generator = np.random.default_rng(derive_seed(self.seed, "pair", epoch, number))
        anchor = int(self.anchors[number])
        does_follow = bool(generator.random() < 0.5)
        second = anchor if does_follow else self.stranger(anchor, generator)
        room = self.length - NUM_MARKS
        first_start = self.reach_back(anchor, room // 2)
        first = self.pieces(first_start, int(self.store.sentence_starts[anchor + 1]))
        first = first[-(room // 2) :]
        stop = int(self.store.document_starts[self.document_of[second] + 1])
        begin = int(self.store.sentence_starts[second + 1])
        rest = self.pieces(begin, min(stop, begin + room - len(first)))
        return SentencePair(first, rest, does_follow, first_start)

    def stranger(self, anchor: int, generator: np.random.Generator) -> int:
        """Returns an anchor of another document, any of them as likely as any other."""
        document = self.document_of[anchor]
        first, last = np.searchsorted(self.anchor_documents, [document, document + 1])
        # Drawn from all but this document's own, which stand side by side and are stepped over.
        place = int(generator.integers(len(self.anchors) - (last - first)))
        return int(self.anchors[place + (last - first) * (place >= first)])

    def reach_back(self, anchor: int, room: int) -> int:
        """Returns where a stretch begins that ends with the anchor and fills its room."""
        starts = self.store.sentence_starts
        document_start = self.store.document_starts[self.document_of[anchor]]
        earliest = max(int(document_start), int(starts[anchor + 1]) - room)
        # The first sentence that begins in the room; the anchor itself where none does.
        sentence = min(int(np.searchsorted(starts, earliest)), anchor)
        return int(starts[sentence])

    def pieces(self, start: int, stop: int) -> NDArray[np.int64]:
        """Returns the pieces of a stretch, without the end that every document has."""
        tokens = self.store.tokens(start, stop)
        return np.asarray(tokens[tokens != END_ID], dtype=np.int64)
