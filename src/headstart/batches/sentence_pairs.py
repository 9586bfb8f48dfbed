"""Pairs of neighbouring sentences, half of them true and half with a stranger's second.

Each pair is a function of seed and number alone, so that any step can be asked for at once.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headstart.batches.draws import drawn
from headstart.batches.permutation import permuted
from headstart.batches.store import TokenStore
from headstart.errors import DataError

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
    def document_ends(self) -> NDArray[np.int64]:
        """Where the text of each document ends, before the piece that ends every document."""
        return self.store.document_starts[1:] - 1

    @cached_property
    def mean_length(self) -> float:
        """About how many pieces a pair has."""
        # Evenly out of all: the first of a text need not be like the others.
        num_tried = min(NUM_PAIRS_TRIED, len(self.anchors))
        numbers = np.linspace(0, len(self.anchors) - 1, num_tried).astype(np.int64)
        return float(np.mean([pair.length for pair in self.chosen(numbers, "tried")]))

    def in_epoch(self, numbers: NDArray[np.int64], epoch: int) -> list[SentencePair]:
        """Returns the pairs with these numbers in the order of an epoch."""
        return self.chosen(permuted(numbers, len(self.anchors), self.seed, "pairs", epoch), epoch)

    def chosen(self, numbers: NDArray[np.int64], epoch: int | str) -> list[SentencePair]:
        """Returns the pairs at these anchors; second halves are true or not as the draws will."""
        draws, anchors = drawn(numbers, self.seed, "pair", epoch), self.anchors[numbers]
        does_follow = draws % 2 == 0
        seconds = np.where(does_follow, anchors, self.strangers(anchors, draws // 2))
        room, starts = self.length - NUM_MARKS, self.store.sentence_starts
        first_stops = starts[anchors + 1]
        first_starts = np.maximum(self.reach_back(anchors, room // 2), first_stops - room // 2)
        second_starts = starts[seconds + 1]
        second_stops = np.minimum(
            self.document_ends[self.document_of[seconds]],
            second_starts + room - (first_stops - first_starts),
        )
        borders = (first_starts, first_stops, second_starts, second_stops, does_follow)
        return [
            SentencePair(
                self.store.tokens(first, first_stop),
                self.store.tokens(second, second_stop),
                is_true,
                first,
            )
            for first, first_stop, second, second_stop, is_true in zip(
                *(border.tolist() for border in borders), strict=True
            )
        ]

    def strangers(self, anchors: NDArray[np.int64], draws: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Returns for each an anchor of another document, any of them as likely as any other."""
        documents = self.document_of[anchors]
        first = np.searchsorted(self.anchor_documents, documents)
        num_own = np.searchsorted(self.anchor_documents, documents + 1) - first
        # Drawn from all but this document's own, which stand side by side and are stepped over.
        places = (draws % (len(self.anchors) - num_own).astype(np.uint64)).astype(np.int64)
        return self.anchors[places + num_own * (places >= first)]

    def reach_back(self, anchors: NDArray[np.int64], room: int) -> NDArray[np.int64]:
        """Returns where stretches begin that end with the anchors and fill their room."""
        starts = self.store.sentence_starts
        document_starts = self.store.document_starts[self.document_of[anchors]]
        earliest = np.maximum(document_starts, starts[anchors + 1] - room)
        # The first sentence that begins in the room; the anchor itself where none does.
        return starts[np.minimum(np.searchsorted(starts, earliest), anchors)]
