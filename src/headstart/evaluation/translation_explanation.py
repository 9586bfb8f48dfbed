"""What can be told of one translation; plain numbers, for whoever shows them.

Legend: H heads, S pieces of the source, T pieces of the target.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Layers = tuple[NDArray[np.float32], ...]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A translation that might have been given, and how it was ranked."""

    text: str
    score: float


@dataclass(frozen=True, kw_only=True)
class WrittenPiece:
    """A piece of the translation, and how likely it was behind those before it."""

    piece: str
    probability: float


@dataclass(frozen=True, kw_only=True)
class PairMaps:
    """Who attends to whom while a target is written: asking by row, as many as are shown.

    A row of the target stands for the piece that is written there; a column, for one that was read.
    """

    source_pieces: tuple[str, ...]
    read_pieces: tuple[str, ...]
    """The target as it was read: the start, then all but the last of what was written."""
    written_pieces: tuple[str, ...]
    """The target as it was written, up to the end."""
    num_source_pieces: int
    """All pieces of the source."""
    num_target_pieces: int
    source: Layers
    """The source to itself. Shapes (H, S, S)."""
    target: Layers
    """The target to itself. Shapes (H, T, T)."""
    across: Layers
    """The target to the source. Shapes (H, T, S)."""
    may_attend: NDArray[np.bool_]
    """The square mask: True where a row of the target may attend to a column of it."""
    largest_gap: float
    """The most by which any row of any map, uncut, misses a sum of 1."""
    largest_future: float
    """The most that any position of the target takes of one behind it."""


@dataclass(frozen=True, kw_only=True)
class TranslationExplanation:
    """A translation, and what is known of how it came about."""

    run: str
    source: str
    text: str
    candidates: tuple[Candidate, ...]
    """The best first."""
    notes: tuple[str, ...]
    """What became of the text, such as that it was split."""
    written: tuple[WrittenPiece, ...]
    maps: PairMaps
