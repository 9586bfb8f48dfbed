"""A score for each label of a whole text.

Legend: B batch, T positions, D width, C labels.
"""

import torch
from torch import Tensor, nn

from headstart.models.heads.config import LabelHeadConfig
from headstart.models.inputs import Text
from headstart.models.pooling import PLACES, PLACES_WITHOUT_PADDING, POOLINGS, where_real
from headstart.models.single_row import SingleRow
from headstart.models.trunks import Trunk


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
        return POOLINGS[self.config.pooling](hidden_BTD, real_positions(text))

    def read(self, trunk: Trunk, text: Text) -> Tensor:
        """Returns the same from the text itself, by no more of a trunk than it takes. (B, D)."""
        place_of = PLACES.get(self.config.pooling)
        if place_of is None:
            return self.pool(trunk(text), text)
        is_token_BT = real_positions(text)
        return where_real(trunk.at(place_of(is_token_BT), text), is_token_BT)

    def read_row(self, row: SingleRow, tokens_T: Tensor) -> Tensor:
        """Returns the same for one row without padding, by a trunk made ready for it. (1, D)."""
        place = PLACES_WITHOUT_PADDING.get(self.config.pooling)
        if place is None:
            return row.vectors(tokens_T).mean(dim=0, keepdim=True)
        return row.vector_at(place % len(tokens_T), tokens_T)


def real_positions(text: Text) -> Tensor:
    """Returns which positions are real. Shape (B, T)."""
    if text.is_token_BT is not None:
        return text.is_token_BT
    return torch.ones_like(text.tokens_BT, dtype=torch.bool)
