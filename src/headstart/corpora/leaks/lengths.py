"""Items without words, and items much longer than the rest of their split."""

import statistics
from collections.abc import Sequence

from headstart.corpora.examples import Example
from headstart.corpora.leaks.oddities import Oddity, oddity
from headstart.corpora.leaks.prepared import PreparedSplit

# Lengths of texts are spread evenly on a scale of logarithms. There, a length is odd from two
# distances between the quartiles above the upper one: 1 in 3,000 of a normal distribution.
NUM_QUARTILE_DISTANCES = 2
# Where nearly all items have one length, a longer sentence is nothing odd.
LEAST_RATIO = 3.0


def empty_items(split: PreparedSplit) -> Oddity:
    """Finds the items that have no words, whatever else they have."""
    indices = [index for index, mark in enumerate(split.fingerprints) if not mark]
    return oddity(split, "empty", "without a letter or a digit", indices)


def long_items(split: PreparedSplit, examples: Sequence[Example]) -> Oddity:
    """Finds the items that are very long for their split, counted in characters."""
    limit = longest_usual([len(example.text) for example in examples])
    # In characters, since a megabyte of code or of a picture in letters can be a single word.
    indices = [index for index, example in enumerate(examples) if len(example.text) > limit]
    return oddity(split, "very long", f"longer than {limit:,} characters", indices)


def longest_usual(lengths: Sequence[int]) -> int:
    """Returns the length from which on an item is odd, found from the quartiles of all."""
    lengths = [length for length in lengths if length]
    if len(lengths) < 2:
        return max(lengths, default=0)
    lower, _, upper = statistics.quantiles(lengths, n=4, method="inclusive")
    return int(upper * max(LEAST_RATIO, (upper / lower) ** NUM_QUARTILE_DISTANCES))
