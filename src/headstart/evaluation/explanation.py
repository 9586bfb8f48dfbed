"""What can be told of one decision; plain numbers, for whoever shows them.

Legend: H heads, T pieces.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class JudgedPart:
    """The characters `text[begin:end]`, and what they add to the margin."""

    begin: int
    end: int
    share: float


@dataclass(frozen=True, kw_only=True)
class Account:
    """A decision shared out among the parts of its text."""

    text: str
    """The text as it was cut."""
    pieces: tuple[JudgedPart, ...]
    words: tuple[JudgedPart, ...]
    margin: float
    """How far the label is above the mean of the others, by calibrated logits."""
    blank_margin: float
    """The same with a blank in the place of each piece."""
    blank: str
    """The piece that says nothing."""
    gap: float
    """What the shares miss of the difference of the margins, as a share of it."""
    num_steps: int
    num_unread: int
    """Pieces behind the length that the run reads."""
    num_windows: int


@dataclass(frozen=True, kw_only=True)
class AttentionMaps:
    """Which pieces each head of each layer takes its answers from."""

    pieces: tuple[str, ...]
    """The pieces of the first row, as many as are shown."""
    num_pieces: int
    """All pieces of that row."""
    layers: tuple[NDArray[np.float32], ...]
    """The weights of each layer, of the pieces shown: asking by row. Shapes (H, T, T)."""


@dataclass(frozen=True, kw_only=True)
class LikeExample:
    """A training example, and how alike its vector is to that of the text."""

    text: str
    label: str
    cosine: float


@dataclass(frozen=True, kw_only=True)
class LikeExamples:
    """The training examples most like a text, the most alike first."""

    examples: tuple[LikeExample, ...]
    num_compared: int
    num_known: int
    missing: str = ""
    """Why there are none, in a sentence."""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A decision, and what is known of how it came about."""

    run: str
    label: str
    probabilities: dict[str, float]
    account: Account
    attention: AttentionMaps
    alike: LikeExamples
