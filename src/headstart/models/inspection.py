"""Looking into a trunk while it reads, and having it read vectors of one's own.

Both hang on to its modules from outside, so that training knows nothing of them.
Legend: B batch, T positions, H heads, D width.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from headstart.models.attention import SelfAttention
from headstart.models.inputs import Text
from headstart.models.trunks import Trunk


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


@torch.no_grad()
def weights_by_layer(trunk: Trunk, text: Text) -> list[Tensor]:
    """Returns how much each position takes of each other, layer by layer. Shapes (B, H, T, T)."""
    found: list[Tensor] = []
    handles = [
        module.register_forward_pre_hook(lambda self, args: found.append(self.weights(*args)))
        for module in trunk.modules()
        if isinstance(module, SelfAttention)
    ]
    try:
        trunk(text)
    finally:
        for handle in handles:
            handle.remove()
    return found
