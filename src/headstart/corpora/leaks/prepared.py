"""Splits made ready for comparing: each text read once, and kept as hashes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from headstart.corpora.examples import Example
from headstart.corpora.leaks.arrays import Flags
from headstart.corpora.leaks.hashing import WordHashes, fingerprint, ngrams
from headstart.corpora.leaks.normalisation import words
from headstart.corpora.leaks.rows import Rows, joined
from headstart.corpora.places import Place

NUM_SHINGLE_WORDS = 3
# Few enough for the arrays of a batch to stay in the processor's cache, or nearly.
NUM_BATCH_WORDS = 1 << 17

Source = TypeVar("Source")


@dataclass(frozen=True, slots=True)
class Item:
    """One example of a split: which one, and where it was read."""

    split: str
    index: int
    place: Place


@dataclass(frozen=True)
class PreparedSplit:
    """What the comparisons know of a split; the texts themselves are not among it."""

    name: str
    places: Sequence[Place]
    fingerprints: Sequence[bytes]
    """Empty for an item without words."""
    words: Rows
    shingles: Rows
    """The set of each item's word 3-grams; an item of fewer than three words has none."""

    @property
    def num_items(self) -> int:
        """How many items there are, those without words too."""
        return len(self.places)

    def item(self, index: int) -> Item:
        """Returns one item by its number in the split, counted from 0."""
        return Item(self.name, index, self.places[index])

    @cached_property
    def first_with(self) -> Mapping[bytes, int]:
        """The first item with each fingerprint, of the items that have words."""
        first: dict[bytes, int] = {}
        for index, mark in enumerate(self.fingerprints):
            if mark:
                first.setdefault(mark, index)
        return first

    @property
    def is_first(self) -> Flags:
        """Whether each item is the first with its words."""
        flags = np.zeros(self.num_items, dtype=np.bool_)
        flags[list(self.first_with.values())] = True
        return flags


def prepare(
    splits: Mapping[str, Sequence[Example]], on_item: Callable[[int], None] | None = None
) -> list[PreparedSplit]:
    """Reads every text once; `on_item` is told how many were read so far."""
    hashes = WordHashes()
    num_read = 0
    prepared = []
    for name, examples in splits.items():
        fingerprints: list[bytes] = []
        rows: list[Rows] = []
        for batch in batches((None, words(example.text)) for example in examples):
            fingerprints += [fingerprint(text) for _, text in batch]
            rows.append(hashes.rows([text for _, text in batch]))
            num_read += len(batch)
            if on_item:
                on_item(num_read)
        shingles = joined([ngrams(part, NUM_SHINGLE_WORDS).distinct() for part in rows])
        places = tuple(example.place for example in examples)
        prepared.append(PreparedSplit(name, places, fingerprints, joined(rows), shingles))
    return prepared


def batches(
    texts: Iterable[tuple[Source, list[str]]],
) -> Iterator[list[tuple[Source, list[str]]]]:
    """Gathers texts, each with where it is from, into batches of about as many words."""
    batch: list[tuple[Source, list[str]]] = []
    num_words = 0
    for text in texts:
        batch.append(text)
        num_words += 1 + len(text[1])  # a million empty texts are also a batch
        if num_words >= NUM_BATCH_WORDS:
            yield batch
            batch, num_words = [], 0
    if batch:
        yield batch
