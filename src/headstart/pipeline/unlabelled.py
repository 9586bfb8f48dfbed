"""Texts without labels: read as documents, drawn where there are many, none held out."""

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from headstart.corpora.documents import Document
from headstart.corpora.examples import Example
from headstart.corpora.leaks.hashing import fingerprint
from headstart.corpora.leaks.normalisation import words
from headstart.errors import DataError
from headstart.randomness import derive_seed


@dataclass(frozen=True, kw_only=True)
class Unlabelled:
    """The texts that were drawn, and what was left out of them."""

    documents: list[Document]
    numbers: list[int]
    """Which of all documents each one is, counted from 0."""
    num_read: int
    num_copies: int
    """Texts in their place that have the words of a held-out one."""
    num_wordless: int

    @property
    def texts(self) -> list[str]:
        """The texts as people write them."""
        return [document.plain for document in self.documents]


def held_out_marks(examples: Iterable[Example]) -> set[bytes]:
    """Returns the fingerprints of texts that nothing may be learned from."""
    return {fingerprint(words(example.text)) for example in examples} - {b""}


def draw_unlabelled(
    documents: Iterable[Document], held_out: set[bytes], most: int, seed: int
) -> Unlabelled:
    """Draws at most so many texts, in their order, holding no more of them than that.

    Every document draws a lot, and those with the lowest lots stay: whether one does depends on
    its place alone.
    """
    lots = np.random.default_rng(derive_seed(seed, "unlabelled"))
    kept: list[tuple[float, int, Document]] = []
    left_out: list[tuple[float, bool]] = []
    number = -1
    for number, document in enumerate(documents):
        lot = lots.random()
        if len(kept) == most and lot >= -kept[0][0]:
            continue  # seldom more than its lot is looked at, where there are very many
        mark = fingerprint(words(document.plain))
        if not mark or mark in held_out:
            left_out.append((lot, bool(mark)))
        elif len(kept) < most:
            heapq.heappush(kept, (-lot, number, document))
        else:
            heapq.heapreplace(kept, (-lot, number, document))
    last = -kept[0][0] if len(kept) == most else math.inf
    drawn_out = [has_words for lot, has_words in left_out if lot < last]
    if not kept:
        raise DataError(
            f"Of {number + 1:,} texts without labels none is left to learn from: "
            f"{sum(drawn_out):,} are copies of validation or test texts, and the others have no "
            "words. Name other files."
        )
    in_order = sorted(kept, key=lambda each: each[1])
    return Unlabelled(
        documents=[document for _, _, document in in_order],
        numbers=[place for _, place, _ in in_order],
        num_read=number + 1,
        num_copies=sum(drawn_out),
        num_wordless=len(drawn_out) - sum(drawn_out),
    )


def numbered(documents: Iterable[Document], numbers: Sequence[int]) -> list[Document]:
    """Returns the documents with certain numbers, in their order."""
    wanted = set(numbers)
    return [document for number, document in enumerate(documents) if number in wanted]
