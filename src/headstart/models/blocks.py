"""One layer: attention, attention to a source where there is one, feed-forward, each a residual.

Legend: B batch, T positions, S positions of the source, D width.
"""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor, nn

from headstart.models.attention import CrossAttention, SelfAttention
from headstart.models.cache import LayerCache
from headstart.models.config import TrunkConfig
from headstart.models.dropout import Dropout
from headstart.models.feed_forward import new_feed_forward
from headstart.models.learned_branches import (
    Sum,
    attended_sum,
    can_attend_as_one,
    can_feed_as_one,
    fed_sum,
)
from headstart.models.masks import Visibility
from headstart.models.norms import new_norm
from headstart.models.pooling import at_places
from headstart.models.positions import Rotation

Branch = Callable[[Tensor], Tensor]


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
        self.dropout = Dropout(layer.dropout)

    def forward(
        self,
        hidden_BTD: Tensor,
        visibility: Visibility,
        rotation: Rotation | None,
        source: Source | None,
    ) -> Tensor:
        """Returns the vectors after this layer."""
        hidden_BTD = self._attended(hidden_BTD, visibility, rotation)
        if source is not None:
            hidden_BTD = self._residual(
                hidden_BTD,
                self.cross_attention_norm,
                lambda read_BTD: self.cross_attention(read_BTD, *source),
            )
        return self._fed(hidden_BTD)

    def at(
        self,
        place_B: Tensor,
        hidden_BTD: Tensor,
        visibility: Visibility,
        rotation: Rotation | None,
    ) -> Tensor:
        """Returns the vector of one position of each row after this layer. Shape (B, 1, D)."""
        answering_BTD = self.attention_norm(hidden_BTD) if self.is_pre_norm else hidden_BTD
        hidden_B1D = self._residual(
            at_places(hidden_BTD, place_B),
            self.attention_norm,
            lambda asking_B1D: self.attention.at(
                place_B, asking_B1D, answering_BTD, visibility, rotation
            ),
        )
        return self._fed(hidden_B1D)

    def extend(
        self,
        hidden_BTD: Tensor,
        visibility: Visibility,
        rotation: Rotation | None,
        cache: LayerCache,
        source_visibility: Visibility | None,
    ) -> Tensor:
        """Returns the vectors of new positions, which attend to the kept ones and are kept too."""
        hidden_BTD = self._residual(
            hidden_BTD,
            self.attention_norm,
            lambda read_BTD: self.attention.extend(read_BTD, visibility, rotation, cache.append),
        )
        answers = cache.source
        if answers is not None and source_visibility is not None:
            hidden_BTD = self._residual(
                hidden_BTD,
                self.cross_attention_norm,
                lambda read_BTD: self.cross_attention.ask(read_BTD, answers, source_visibility),
            )
        return self._fed(hidden_BTD)

    def _attended(
        self, hidden_BTD: Tensor, visibility: Visibility, rotation: Rotation | None
    ) -> Tensor:
        """Returns the vectors after attention."""
        attention, after = self.attention, Sum(self.dropout, self.attention_norm)
        may_be_one = not self.is_pre_norm and rotation is None
        if may_be_one and can_attend_as_one(attention, after, hidden_BTD, visibility):
            return attended_sum(attention, after, hidden_BTD, visibility)
        return self._residual(
            hidden_BTD, after.norm, lambda read_BTD: attention(read_BTD, visibility, rotation)
        )

    def _fed(self, hidden_BTD: Tensor) -> Tensor:
        """Returns the vectors after the feed-forward."""
        feed_forward, after = self.feed_forward, Sum(self.dropout, self.feed_forward_norm)
        if not self.is_pre_norm and can_feed_as_one(feed_forward, after, hidden_BTD):
            return fed_sum(feed_forward, after, hidden_BTD)
        return self._residual(hidden_BTD, after.norm, feed_forward)

    def _residual(self, hidden_BTD: Tensor, norm: nn.Module, branch: Branch) -> Tensor:
        """Adds to the vectors what a branch makes of them, normed before it or after the sum."""
        if self.is_pre_norm:
            sum_BTD: Tensor = hidden_BTD + self.dropout(branch(norm(hidden_BTD)))
            return sum_BTD
        normed_BTD: Tensor = norm(hidden_BTD + self.dropout(branch(hidden_BTD)))
        return normed_BTD
