"""Telling that two texts are one: copies, whatever their case, spaces and punctuation."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from headstart.corpora.leaks.normalisation import normalised

Item = TypeVar("Item")


def one_line(text: str) -> str:
    """Returns a text with every run of spaces and line ends as one space."""
    return " ".join(text.split())


def without_copies(items: Iterable[Item], text_of: Callable[[Item], str]) -> Iterator[Item]:
    """Yields each item whose text has words that no earlier item's text is a copy of."""
    seen = {""}
    for item in items:
        key = normalised(text_of(item))
        if key not in seen:
            seen.add(key)
            yield item
