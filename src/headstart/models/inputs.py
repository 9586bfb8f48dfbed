"""What a trunk reads: pieces, and what each of them is. Legend: B batch, T positions."""

from typing import NamedTuple

from torch import Tensor


class Text(NamedTuple):
    """Rows of pieces; what is left out is plain: no padding, one document, no segments."""

    tokens_BT: Tensor
    is_token_BT: Tensor | None = None
    """True where a piece is real, False where it is padding, on whichever side."""
    document_BT: Tensor | None = None
    """For packed rows, the number of a piece's document; each number stands for one stretch."""
    segment_BT: Tensor | None = None
    """For pairs of sentences, 0 in the first and 1 in the second."""


class SourceAndTarget(NamedTuple):
    """What an encoder-decoder reads: a source text, and the target written so far."""

    source: Text
    target: Text
