"""Rows of numbers of different lengths, one after the other in one array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headstart.corpora.leaks.arrays import Flags, Hashes, Positions


@dataclass(frozen=True, slots=True)
class Rows:
    """Hashes of several texts; row `i` stands from `starts[i]` to `starts[i + 1]`."""

    values: Hashes
    starts: Positions

    @property
    def num_rows(self) -> int:
        """How many rows there are, empty ones too."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> Positions:
        """How many values each row has."""
        return np.diff(self.starts)

    @property
    def owners(self) -> Positions:
        """The row that each value stands in."""
        return np.repeat(np.arange(self.num_rows), self.sizes)

    def row(self, index: int) -> Hashes:
        """Returns the values of one row."""
        return self.values[self.starts[index] : self.starts[index + 1]]

    def where(self, is_kept: Flags) -> Rows:
        """Returns the rows with only the values that are marked."""
        num_kept = np.concatenate([[0], np.cumsum(is_kept)])
        return Rows(self.values[is_kept], num_kept[self.starts])

    def distinct(self) -> Rows:
        """Returns the rows as sets: each value once in its row, in order of size."""
        owners = self.owners
        order = np.lexsort((self.values, owners))
        values = self.values[order]
        # Sorting by owner first leaves every row where it was.
        is_first = np.ones(len(values), dtype=np.bool_)
        is_first[1:] = (values[1:] != values[:-1]) | (owners[1:] != owners[:-1])
        return Rows(values, self.starts).where(is_first)


def rows_of_sizes(values: Hashes, sizes: Positions) -> Rows:
    """Returns rows that cut an array into pieces of these sizes."""
    return Rows(values, np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]))


def rows_from(arrays: Sequence[Hashes]) -> Rows:
    """Returns rows that hold one array each."""
    sizes = np.fromiter(map(len, arrays), np.int64, count=len(arrays))
    return rows_of_sizes(np.concatenate([np.zeros(0, np.uint64), *arrays]), sizes)


def joined(parts: Sequence[Rows]) -> Rows:
    """Returns the rows of all parts, one part after the other."""
    values = [np.zeros(0, np.uint64), *(part.values for part in parts)]
    sizes = [np.zeros(0, np.int64), *(part.sizes for part in parts)]
    return rows_of_sizes(np.concatenate(values), np.concatenate(sizes))
