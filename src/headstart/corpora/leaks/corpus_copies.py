"""Exact copies of items in a pretraining corpus, which is read once and never held."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from headstart.corpora.leaks.hashing import fingerprint
from headstart.corpora.leaks.prepared import Item, PreparedSplit
from headstart.corpora.places import Place


@dataclass(frozen=True, slots=True)
class CorpusCopy:
    """An item and the first document of the corpus that has its words and no others."""

    item: Item
    num_documents: int
    first: Place


@dataclass(frozen=True)
class CorpusCopies:
    """The items of a split that stand in the corpus as they are."""

    num_items: int
    split: str
    copies: tuple[CorpusCopy, ...]
    is_inside: ClassVar[bool] = False

    @property
    def indices(self) -> frozenset[int]:
        """The items that are copies, by their numbers in the split."""
        return frozenset(copy.item.index for copy in self.copies)


class CorpusCopyFinder:
    """Holds each document of a corpus against the items of all splits, one after the other."""

    def __init__(self, splits: Sequence[PreparedSplit]) -> None:
        self._splits = splits
        self._is_wanted = frozenset().union(*(split.first_with for split in splits))
        self._num_documents: dict[bytes, int] = {}
        self._first_places: dict[bytes, Place] = {}

    def see(self, place: Place, words: Sequence[str]) -> None:
        """Compares one document, given as its normalised words."""
        seen = fingerprint(words)
        if seen in self._is_wanted:
            self._first_places.setdefault(seen, place)
            self._num_documents[seen] = self._num_documents.get(seen, 0) + 1

    def found(self) -> tuple[CorpusCopies, ...]:
        """Returns what was found so far, a record a split."""
        return tuple(self._found_of(split) for split in self._splits)

    def _found_of(self, split: PreparedSplit) -> CorpusCopies:
        """Lists the items of one split that were seen."""
        copies = tuple(
            CorpusCopy(split.item(index), self._num_documents[mark], self._first_places[mark])
            for index, mark in enumerate(split.fingerprints)
            if mark in self._first_places
        )
        return CorpusCopies(len(copies), split.name, copies)
