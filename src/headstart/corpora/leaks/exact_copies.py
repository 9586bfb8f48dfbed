"""Exact copies: items with the same words in the same order, inside a split and across splits."""

from collections.abc import Sequence
from dataclasses import dataclass

from headstart.corpora.leaks.prepared import Item, PreparedSplit


@dataclass(frozen=True, slots=True)
class Copy:
    """An item and the first item of the source that has its words."""

    item: Item
    of: Item


@dataclass(frozen=True)
class Copies:
    """The items of a split that are copies of a source's; inside a split, of an earlier item."""

    num_items: int
    split: str
    source: str
    copies: tuple[Copy, ...]

    @property
    def is_inside(self) -> bool:
        """Whether a split is compared with itself."""
        return self.split == self.source

    @property
    def indices(self) -> frozenset[int]:
        """The items that are copies, by their numbers in the split."""
        return frozenset(copy.item.index for copy in self.copies)


def exact_copies(splits: Sequence[PreparedSplit]) -> tuple[Copies, ...]:
    """Compares each split with itself and with those before it; an item is listed once for each."""
    return tuple(
        copies_of(split, source)
        for number, split in enumerate(splits)
        for source in splits[: number + 1]
    )


def copies_of(split: PreparedSplit, source: PreparedSplit) -> Copies:
    """Lists the items of a split whose words a source has; an item without words copies nothing."""
    first_with = source.first_with
    found = [(index, first_with.get(mark)) for index, mark in enumerate(split.fingerprints)]
    copies = tuple(
        Copy(split.item(index), source.item(of))
        for index, of in found
        if of is not None and not (split is source and of == index)
    )
    return Copies(len(copies), split.name, source.name, copies)
