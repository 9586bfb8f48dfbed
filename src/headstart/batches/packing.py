"""Pretraining batches: the store cut into rows without padding, in an order that is computed.

Which row stands where is a function of seed, epoch and step alone, so that any step can be asked
for at once, and a run that goes on reads what it would have read.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headstart.batches.permutation import permuted
from headstart.batches.store import TokenStore
from headstart.errors import DataError
from headstart.randomness import derive_seed


@dataclass(frozen=True)
class PackedRows:
    """Rows of tokens, and for each token the number of its document within its row."""

    tokens: NDArray[np.int64]
    documents: NDArray[np.int64]
    starts: NDArray[np.int64]
    """Where each row begins in the store."""


@dataclass(frozen=True)
class PackedBatches:
    """Batches of so many rows of so many tokens, for any number of epochs."""

    store: TokenStore
    length: int
    sequences: int
    seed: int

    def __post_init__(self) -> None:
        if self.steps_per_epoch < 1:
            raise DataError(
                f"The text has {self.store.num_tokens:,} tokens, too few for one step of "
                f"{self.sequences:,} × {self.length:,}. Give more text, or choose smaller steps."
            )

    @property
    def num_rows(self) -> int:
        """The rows of an epoch: one less than there could be, so that the first may begin later."""
        most = self.store.num_tokens // self.length
        return most - 1 if most > self.sequences else most

    @property
    def steps_per_epoch(self) -> int:
        """The steps that an epoch has; rows that fill no step wait for another epoch."""
        return self.num_rows // self.sequences

    def at(self, step: int) -> PackedRows:
        """Returns the batch of a step, counted from the beginning of the run."""
        epoch, place = divmod(step, self.steps_per_epoch)
        places = np.arange(place * self.sequences, (place + 1) * self.sequences)
        rows = permuted(places, self.num_rows, self.seed, "rows", epoch)
        # Another beginning each epoch: what stood at the end of a row stands elsewhere next time.
        num_spare = self.store.num_tokens - self.num_rows * self.length
        shift = derive_seed(self.seed, "shift", epoch) % min(num_spare + 1, self.length)
        starts = rows * self.length + shift
        return packed_rows(self.store, starts, self.length)


def rows_in_order(
    store: TokenStore, length: int, sequences: int, num_shared: int
) -> Iterator[PackedRows]:
    """Yields all of a store from first to last; each row repeats so many tokens of the one before.

    What fills no row at the end comes as one short row, so that no token is left out.
    """
    last = store.num_tokens - num_shared
    starts = np.arange(0, max(0, last), length - num_shared)
    is_whole = starts + length <= store.num_tokens
    whole = starts[is_whole]
    for begin in range(0, len(whole), sequences):
        yield packed_rows(store, whole[begin : begin + sequences], length)
    for start in starts[~is_whole].tolist():
        yield packed_rows(store, np.array([start]), store.num_tokens - start)


def packed_rows(store: TokenStore, starts: NDArray[np.int64], length: int) -> PackedRows:
    """Returns the rows of a store that begin at these places."""
    tokens = np.stack([store.tokens(start, start + length) for start in starts.tolist()])
    return PackedRows(tokens, documents_of(store, starts, length), starts)


def documents_of(store: TokenStore, starts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Returns, for each token of rows that begin here, the number of its document, from 0."""
    places = starts[:, None] + np.arange(length)
    numbers = np.searchsorted(store.document_starts, places.ravel(), side="right")
    grid = numbers.reshape(places.shape)
    return grid - grid[:, :1]
