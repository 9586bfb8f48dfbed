"""Telling that two texts are one: copies, whatever their case, spaces and punctuation."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

NOT_WORDS = re.compile(r"[\W_]+")
Item = TypeVar("Item")


def copy_key(text: str) -> str:
    """Returns the words of a text alone; copies of one text have one key."""
    return NOT_WORDS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def one_line(text: str) -> str:
    """Returns a text with every run of spaces and line ends as one space."""
    return " ".join(text.split())


def without_copies(items: Iterable[Item], text_of: Callable[[Item], str]) -> Iterator[Item]:
    """Yields each item whose text has words that no earlier item's text is a copy of."""
    seen = {""}
    for item in items:
        key = copy_key(text_of(item))
        if key not in seen:
            seen.add(key)
            yield item
