"""One layer: attention, attention to a source where there is one, feed-forward, each a residual.

Legend: B batch, T positions, S positions of the source, D width.
"""

from typing import NamedTuple

from torch import Tensor, nn

from headstart.models.attention import CrossAttention, SelfAttention
from headstart.models.config import TrunkConfig
from headstart.models.feed_forward import new_feed_forward
from headstart.models.masks import Visibility
from headstart.models.norms import new_norm
from headstart.models.positions import Rotation


class Source(NamedTuple):
    """What a decoder reads: the encoder's vectors, and which of them are real."""

    hidden_BSD: Tensor
    visibility: Visibility


class Block(nn.Module):
    """A Transformer layer, its norms after each residual (post) or before each branch (pre)."""

    def __init__(self, config: TrunkConfig, index: int) -> None:
        super().__init__()
        layer = config.layer
        self.is_pre_norm = layer.norm_place == "pre"
        self.attention = SelfAttention(layer)
        # Vectors that the embedding has just normalised are not normalised twice.
        is_normalised = self.is_pre_norm and config.has_embedding_norm and index == 0
        self.attention_norm = nn.Identity() if is_normalised else new_norm(layer)
        if config.attends_to_source:
            self.cross_attention = CrossAttention(layer)
            self.cross_attention_norm = new_norm(layer)
        self.feed_forward = new_feed_forward(layer)
        self.feed_forward_norm = new_norm(layer)
        self.dropout = nn.Dropout(layer.dropout)

    def forward(
        self,
        hidden_BTD: Tensor,
        visibility: Visibility,
        rotation: Rotation | None,
        source: Source | None,
    ) -> Tensor:
        """Returns the vectors after this layer."""
        # No branch gets a name: a name would hold its vectors while the next one works.
        norm = self.attention_norm
        hidden_BTD = self._after(
            norm,
            hidden_BTD,
            self.attention(self._before(norm, hidden_BTD), visibility, rotation),
        )
        if source is not None:
            norm = self.cross_attention_norm
            hidden_BTD = self._after(
                norm, hidden_BTD, self.cross_attention(self._before(norm, hidden_BTD), *source)
            )
        norm = self.feed_forward_norm
        return self._after(norm, hidden_BTD, self.feed_forward(self._before(norm, hidden_BTD)))

    def _before(self, norm: nn.Module, hidden_BTD: Tensor) -> Tensor:
        """What a branch reads."""
        read_BTD: Tensor = norm(hidden_BTD) if self.is_pre_norm else hidden_BTD
        return read_BTD

    def _after(self, norm: nn.Module, hidden_BTD: Tensor, branch_BTD: Tensor) -> Tensor:
        """The residual: what went into a branch plus what came out of it."""
        sum_BTD: Tensor = hidden_BTD + self.dropout(branch_BTD)
        kept_BTD: Tensor = sum_BTD if self.is_pre_norm else norm(sum_BTD)
        return kept_BTD
