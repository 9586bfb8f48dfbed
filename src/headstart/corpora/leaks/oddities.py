"""Items that do not fit the rest of their split, and the rule by which each was found."""

from collections.abc import Sequence
from dataclasses import dataclass

from headstart.corpora.leaks.prepared import Item, PreparedSplit
from headstart.corpora.places import NUM_EXAMPLES


@dataclass(frozen=True)
class Oddity:
    """Items of a split that are odd in one way."""

    num_items: int
    split: str
    kind: str
    rule: str
    """What holds of an odd item, such as "longer than 5,000 characters"."""
    first: tuple[Item, ...]
    indices: tuple[int, ...]


def oddity(split: PreparedSplit, kind: str, rule: str, indices: Sequence[int]) -> Oddity:
    """Returns the record of the odd items of a split."""
    first = tuple(split.item(index) for index in indices[:NUM_EXAMPLES])
    return Oddity(len(indices), split.name, kind, rule, first, tuple(indices))
