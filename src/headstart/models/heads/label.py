"""A score for each label of a whole text.

Legend: B batch, T positions, D width, C labels.
"""

import torch
from torch import Tensor, nn

from headstart.models.heads.config import LabelHeadConfig
from headstart.models.inputs import Text
from headstart.models.pooling import POOLINGS


class LabelHead(nn.Module):
    """Pools a text into one vector and scores the labels by one linear layer."""

    def __init__(self, config: LabelHeadConfig, width: int) -> None:
        super().__init__()
        self.config = config
        self.output = nn.Linear(width, config.num_labels)

    def forward(self, hidden_BTD: Tensor, text: Text) -> Tensor:
        """Returns the logits of each label. Shape (B, C)."""
        logits_BC: Tensor = self.output(self.pool(hidden_BTD, text))
        return logits_BC

    def pool(self, hidden_BTD: Tensor, text: Text) -> Tensor:
        """Returns the one vector by which a text is judged. Shape (B, D)."""
        is_token_BT = text.is_token_BT
        if is_token_BT is None:
            is_token_BT = torch.ones_like(text.tokens_BT, dtype=torch.bool)
        return POOLINGS[self.config.pooling](hidden_BTD, is_token_BT)
