"""The layer's second half: the same small network at each position, plain or gated.

Legend: B batch, T positions, D width, F inner width.
"""

from collections.abc import Callable, Mapping

import torch.nn.functional as F
from torch import Tensor, nn

from headstart.models.config import LayerConfig
from headstart.models.layouts import Linear

ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gated-silu": F.silu,
}


class FeedForward(nn.Module):
    """Widens, bends, narrows."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[config.feed_forward]
        self.inner = Linear(config.width, config.feed_forward_width, bias=config.has_bias)
        self.output = Linear(config.feed_forward_width, config.width, bias=config.has_bias)

    def forward(self, hidden_BTD: Tensor) -> Tensor:
        """Returns a new vector for each position from that position's vector alone."""
        inner = self.inner
        # Whatever else stands in its place is called as any module is.
        if self.activation is F.relu and isinstance(inner, Linear) and inner.is_for_use:
            bent_BTF = inner.product(hidden_BTD, inner.bias, "relu")
        else:
            bent_BTF = self.activation(inner(hidden_BTD))
        narrowed_BTD: Tensor = self.output(bent_BTF)
        return narrowed_BTD


class GatedFeedForward(nn.Module):
    """Widens twice, bends one half, multiplies the halves, narrows (Shazeer 2020)."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[config.feed_forward]
        self.gate_and_value = Linear(
            config.width, 2 * config.feed_forward_width, bias=config.has_bias
        )
        self.output = Linear(config.feed_forward_width, config.width, bias=config.has_bias)

    def forward(self, hidden_BTD: Tensor) -> Tensor:
        """Returns a new vector for each position from that position's vector alone."""
        gate_BTF, value_BTF = self.gate_and_value(hidden_BTD).chunk(2, dim=-1)
        narrowed_BTD: Tensor = self.output(self.activation(gate_BTF) * value_BTF)
        return narrowed_BTD


def new_feed_forward(config: LayerConfig) -> FeedForward | GatedFeedForward:
    """Returns the feed-forward of the layer's kind."""
    return GatedFeedForward(config) if config.is_gated else FeedForward(config)
