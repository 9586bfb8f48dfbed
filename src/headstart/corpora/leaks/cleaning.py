"""Splits without what was trained on: the clean one and the strict one."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Protocol


class Leak(Protocol):
    """Items of a split that also stand elsewhere."""

    @property
    def split(self) -> str:
        """The split that the items are in."""

    @property
    def is_inside(self) -> bool:
        """Whether they are repeated inside that split only, which is no leak."""

    @property
    def indices(self) -> frozenset[int]:
        """The items, by their numbers in the split."""


@dataclass(frozen=True)
class Cleaned:
    """Which items of a split stay, by their numbers in it, in their order."""

    num_clean: int
    num_strict: int
    split: str
    clean: tuple[int, ...]
    """Without exact copies of anything in the splits before it or in the corpus."""
    strict: tuple[int, ...]
    """Without near copies either."""


def cleaned(split: str, num_items: int, exact: Iterable[Leak], near: Iterable[Leak]) -> Cleaned:
    """Leaves out of a split what stands in the splits before it or in the corpus.

    Items that repeat another of the same split stay: they are no leak, and a score is as fair
    with them as without.
    """
    exact = tuple(exact)
    clean = kept(split, num_items, exact)
    strict = kept(split, num_items, chain(exact, near))
    return Cleaned(len(clean), len(strict), split, clean, strict)


def kept(split: str, num_items: int, leaks: Iterable[Leak]) -> tuple[int, ...]:
    """Returns the items of a split that none of the leaks names."""
    ours = (leak.indices for leak in leaks if leak.split == split and not leak.is_inside)
    leaked = frozenset[int]().union(*ours)
    return tuple(index for index in range(num_items) if index not in leaked)
