"""Multi-head attention, of a text over itself and of one text over another.

Legend: B batch, T positions asking, S positions answering, D width, H heads, K width of a head.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from headstart.models.config import LayerConfig
from headstart.models.masks import Visibility
from headstart.models.positions import Rotation, rotate


def split_heads(vector_BTD: Tensor, num_heads: int) -> Tensor:
    """Cuts each vector into one slice a head. Shape (B, H, T, K)."""
    return vector_BTD.view(*vector_BTD.shape[:2], num_heads, -1).transpose(1, 2)


def join_heads(vector_BHTK: Tensor) -> Tensor:
    """Puts the slices of the heads side by side again. Shape (B, T, D)."""
    return vector_BHTK.transpose(1, 2).flatten(2)


def attend(
    query_BHTK: Tensor, key_BHSK: Tensor, value_BHSK: Tensor, visibility: Visibility
) -> Tensor:
    """Returns softmax(QKᵀ/√K)V over what is visible, by PyTorch's fused kernels."""
    return F.scaled_dot_product_attention(
        query_BHTK,
        key_BHSK,
        value_BHSK,
        attn_mask=visibility.may_attend_B1TS,
        is_causal=visibility.is_causal,
    )


class SelfAttention(nn.Module):
    """Attention of x over x: queries, keys and values from the same vectors, by one product."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        # One wide product is faster than three narrow ones.
        self.query_key_value = nn.Linear(config.width, 3 * config.width, bias=config.has_bias)
        self.output = nn.Linear(config.width, config.width, bias=config.has_bias)

    def forward(
        self, hidden_BTD: Tensor, visibility: Visibility, rotation: Rotation | None
    ) -> Tensor:
        """Returns, for each position, the mix of what it may attend to."""
        query_BHTK, key_BHTK, value_BHTK = (
            split_heads(part_BTD, self.num_heads)
            for part_BTD in self.query_key_value(hidden_BTD).chunk(3, dim=-1)
        )
        if rotation is not None:
            query_BHTK, key_BHTK = rotate(query_BHTK, rotation), rotate(key_BHTK, rotation)
        context_BTD = join_heads(attend(query_BHTK, key_BHTK, value_BHTK, visibility))
        mixed_BTD: Tensor = self.output(context_BTD)
        return mixed_BTD


class CrossAttention(nn.Module):
    """Attention of y over x: queries from y, keys and values from x."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        self.query = nn.Linear(config.width, config.width, bias=config.has_bias)
        self.key_value = nn.Linear(config.width, 2 * config.width, bias=config.has_bias)
        self.output = nn.Linear(config.width, config.width, bias=config.has_bias)

    def forward(self, hidden_BTD: Tensor, source_BSD: Tensor, visibility: Visibility) -> Tensor:
        """Returns, for each position of y, the mix of the visible positions of x."""
        query_BHTK = split_heads(self.query(hidden_BTD), self.num_heads)
        key_BHSK, value_BHSK = (
            split_heads(part_BSD, self.num_heads)
            for part_BSD in self.key_value(source_BSD).chunk(2, dim=-1)
        )
        context_BTD = join_heads(attend(query_BHTK, key_BHSK, value_BHSK, visibility))
        mixed_BTD: Tensor = self.output(context_BTD)
        return mixed_BTD
