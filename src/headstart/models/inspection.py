"""Looking into a trunk while it reads, and having it read vectors of one's own.

Both hang on to its modules from outside, so that training knows nothing of them.
Legend: B batch, T positions, S positions of the source, H heads, D width.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from headstart.models.attention import CrossAttention, SelfAttention
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.trunks import EncoderDecoder, Trunk


@contextmanager
def given_vectors(trunk: Trunk, vector_BTD: Tensor) -> Iterator[None]:
    """Has a trunk take these as the vectors of its pieces, before positions and norms."""

    def replaced(_table: nn.Module, _tokens: object, found_BTD: Tensor) -> Tensor:
        assert found_BTD.shape == vector_BTD.shape
        return vector_BTD

    handle = trunk.embedding.tokens.register_forward_hook(replaced)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def given_weights(model: nn.Module) -> Iterator[None]:
    """Has no gradients made for a model's weights, where only those of vectors are asked for."""
    learning = [weights for weights in model.parameters() if weights.requires_grad]
    for weights in learning:
        weights.requires_grad = False
    try:
        yield
    finally:
        for weights in learning:
            weights.requires_grad = True


class PairWeights(NamedTuple):
    """Who attends to whom in an encoder-decoder, layer by layer; asking by row."""

    source: list[Tensor]
    """The source to itself. Shapes (B, H, S, S)."""
    target: list[Tensor]
    """The target to itself. Shapes (B, H, T, T)."""
    across: list[Tensor]
    """The target to the source. Shapes (B, H, T, S)."""


@torch.no_grad()
def weights_by_layer(trunk: Trunk, text: Text) -> list[Tensor]:
    """Returns how much each position takes of each other, layer by layer. Shapes (B, H, T, T)."""
    with seen_weights(trunk, SelfAttention) as found:
        trunk(text)
    return found


@torch.no_grad()
def pair_weights(trunk: EncoderDecoder, pair: SourceAndTarget) -> PairWeights:
    """Returns how much each position of a pair takes of its own side and of the source."""
    with (
        seen_weights(trunk.encoder, SelfAttention) as source,
        seen_weights(trunk.decoder, SelfAttention) as target,
        seen_weights(trunk.decoder, CrossAttention) as across,
    ):
        trunk(pair)
    return PairWeights(source, target, across)


@contextmanager
def seen_weights(
    trunk: Trunk, kind: type[SelfAttention] | type[CrossAttention]
) -> Iterator[list[Tensor]]:
    """Collects the weights of one kind of attention while a trunk reads, in the layers' order."""
    found: list[Tensor] = []
    handles = [
        module.register_forward_pre_hook(lambda self, args: found.append(self.weights(*args)))
        for module in trunk.modules()
        if isinstance(module, kind)
    ]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()
