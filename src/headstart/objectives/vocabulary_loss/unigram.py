"""How common each piece is, as logits: where a head's bias should begin.

A head that begins with all pieces alike spends its first hundred steps on pushing the rare ones
down. That is time lost for an exact head, and more for a sampled one, which touches a rare piece
only now and then. Legend: V pieces.
"""

import torch
from torch import Tensor

# What is added to each count, so that a piece the corpus lacks is rare and not impossible.
SMOOTHING = 1.0


def unigram_logits(counts_V: Tensor) -> Tensor:
    """Returns the logarithm of each piece's share of a corpus, smoothed. Shape (V,)."""
    smoothed_V = counts_V.double() + SMOOTHING
    return (smoothed_V / smoothed_V.sum()).log().to(torch.float32)
