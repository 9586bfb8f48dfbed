"""Pieces to vectors: the table of pieces, positions that are added, segments, norm, dropout.

Legend: B batch, T positions, D width.
"""

import math

import torch
from torch import Tensor, nn

from headstart.models.config import TrunkConfig
from headstart.models.dropout import Dropout
from headstart.models.inputs import Text
from headstart.models.norms import new_norm
from headstart.models.positions import LearnedPositions, SinusoidalPositions


class Embedding(nn.Module):
    """Turns each piece of a text into its first vector."""

    def __init__(self, config: TrunkConfig) -> None:
        super().__init__()
        width, has_norm = config.width, config.has_embedding_norm
        # Sinusoids have unit size; the paper scales small embeddings up to theirs.
        self.scale = math.sqrt(width) if config.scales_embedding else 1.0
        self.tokens = nn.Embedding(config.vocabulary_size, width)
        self.positions: nn.Module | None = None
        if config.positions == "sinusoidal":
            self.positions = SinusoidalPositions(config.max_length, width)
        elif config.positions == "learned":
            self.positions = LearnedPositions(config.max_length, width)
        self.segments = nn.Embedding(config.num_segments, width) if config.num_segments else None
        self.norm = new_norm(config.layer) if has_norm else None
        self.dropout = Dropout(config.layer.dropout)

    def forward(self, text: Text, position_BT: Tensor) -> Tensor:
        """Returns the first vectors of a text."""
        hidden_BTD: Tensor = self.tokens(text.tokens_BT) * self.scale
        if self.positions is not None:
            hidden_BTD = self.positions(hidden_BTD, position_BT)
        if self.segments is not None:
            # A text that says nothing of segments is all first segment.
            segment_BT = text.segment_BT
            if segment_BT is None:
                segment_BT = torch.zeros_like(text.tokens_BT)
            hidden_BTD = hidden_BTD + self.segments(segment_BT)
        if self.norm is not None:
            hidden_BTD = self.norm(hidden_BTD)
        dropped_BTD: Tensor = self.dropout(hidden_BTD)
        return dropped_BTD
