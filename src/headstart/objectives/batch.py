"""What an objective reads: rows of pieces with the answers asked for, as arrays and as tensors.

Legend: B rows, T positions, M answered positions, P pairs of sentences.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headstart.models.inputs import Text
from headstart.objectives.travel import array_moved

Grid = NDArray[np.int64]
# Where nothing is asked; no piece has this id.
NOTHING = -1


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of a step as arrays, cheap to make beside the training and to cut apart."""

    tokens: Grid
    documents: Grid
    targets: Grid
    """The piece that is asked for at each position, or `NOTHING`."""
    names: tuple[str, ...]
    """What each row is called when something is wrong with it."""
    is_token: NDArray[np.bool_] | None = None
    segments: Grid | None = None
    follows: Grid | None = None
    """At the first piece of each pair, 0 if its sentences follow each other, else 1."""

    def split(self, num_parts: int) -> Iterator["Rows"]:
        """Yields the rows in so many parts of about the same size, none empty."""
        num_rows = len(self.names)
        bounds = np.linspace(0, num_rows, min(num_parts, num_rows) + 1).astype(int).tolist()
        for start, stop in pairwise(bounds):
            cut = {
                field.name: value[start:stop]
                for field in fields(self)
                if (value := getattr(self, field.name)) is not None
            }
            yield replace(self, **cut)


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The rows of a step, or a part of them, as tensors."""

    text: Text
    answered_M: Tensor
    """The places of the answered positions, counted through all rows."""
    target_M: Tensor
    first_P: Tensor | None
    """The places where pairs of sentences begin, counted through all rows."""
    follows_P: Tensor | None
    names: tuple[str, ...]

    @property
    def num_tokens(self) -> int:
        """The positions of all rows, padding included."""
        return self.text.tokens_BT.numel()

    @property
    def counts(self) -> Mapping[str, int]:
        """How many answers of each kind are asked for."""
        pairs = {} if self.follows_P is None else {NEXT: len(self.follows_P)}
        return {PIECES: len(self.target_M)} | pairs


PIECES, NEXT = "pieces", "next"


def to_batch(rows: Rows, device: str) -> Batch:
    """Returns rows as tensors on a device; which positions count is found before they travel."""

    def on_device(values: NDArray[np.generic]) -> Tensor:
        return array_moved(values, device)

    is_answered = rows.targets != NOTHING
    is_first = None if rows.follows is None else rows.follows != NOTHING
    is_one_document = bool((rows.documents == rows.documents[:, :1]).all())
    return Batch(
        text=Text(
            on_device(rows.tokens),
            None if rows.is_token is None else on_device(rows.is_token),
            # Rows of one document each need no mask, and kernels are faster without.
            None if is_one_document else on_device(rows.documents),
            None if rows.segments is None else on_device(rows.segments),
        ),
        answered_M=on_device(np.flatnonzero(is_answered)),
        target_M=on_device(rows.targets[is_answered]),
        first_P=None if is_first is None else on_device(np.flatnonzero(is_first)),
        follows_P=None
        if is_first is None or rows.follows is None
        else on_device(rows.follows[is_first]),
        names=rows.names,
    )
