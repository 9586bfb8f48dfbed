"""A score for each piece of the vocabulary, at each position.

Legend: B batch, T positions, D width, V pieces.
"""

import torch
from torch import Tensor, nn

from headstart.models.heads.config import LanguageHeadConfig
from headstart.models.inputs import Text
from headstart.models.layouts import Product


class LanguageHead(Product):
    """Scores pieces by their likeness to a hidden vector, with a bias for how common each is."""

    def __init__(self, config: LanguageHeadConfig, embedding: nn.Embedding) -> None:
        super().__init__()
        self.config = config
        # Untied, a copy for its shape, type and device; `initialise` draws it anew.
        # Tied, it is the embedding's own parameter, so that a gradient step moves both as one.
        self.weight = embedding.weight if config.is_tied else nn.Parameter(embedding.weight.clone())
        self.bias = (
            nn.Parameter(torch.zeros_like(embedding.weight[:, 0])) if config.has_bias else None
        )

    def forward(self, hidden_BTD: Tensor, _text: Text) -> Tensor:
        """Returns the logits of each piece. Shape (B, T, V)."""
        return self.product(hidden_BTD, self.bias)
