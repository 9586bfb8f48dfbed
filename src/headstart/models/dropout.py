"""Dropout whose draws are cheap on a processor, too.

PyTorch draws one number after another on many of them, which took a sixth of a step of fine-tuning
(docs/log.md). Here a draw has 16 bits, and four of them come at once from a fast generator that
PyTorch's own seeds: the same seed gives the same draws, and nothing is kept of them between steps.
Where compiled code serves, it draws by itself.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headstart.models.kernels.library import serves
from headstart.models.learned_dropout import NONE_DROPPED, Dropping, dropped, new_dropping

# The values that a draw may have, and how many draws one number of the generator holds.
NUM_VALUES, DRAWS_PER_NUMBER = 1 << 16, 4


class Dropout(nn.Module):
    """Sets a share of numbers to zero while a model learns, and makes up for it by the others."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - PyTorch's own name
        """Returns what is left of the numbers."""
        if not self.training or self.share == 0:
            return input
        if input.device.type != "cpu" or torch.compiler.is_compiling():
            return F.dropout(input, self.share)
        # Whether or not gradients are wanted: what is done once more for them drops the same.
        if serves(input):
            return dropped(input, self.new_dropping())
        return input * drawn_factors(input.shape, self.share, input.dtype)

    def new_dropping(self) -> Dropping:
        """Draws which numbers compiled code drops, while a model learns."""
        is_off = not self.training or self.share == 0
        return NONE_DROPPED if is_off else new_dropping(self.share, drawn_seed())

    def extra_repr(self) -> str:
        """Returns what a printed model says of it."""
        return f"share={self.share}"


def drawn_factors(shape: torch.Size, share: float, dtype: torch.dtype = torch.float32) -> Tensor:
    """Returns 0 for a share of all numbers, and for the others what makes up for those."""
    num_dropped = min(round(share * NUM_VALUES), NUM_VALUES - 1)
    num_draws = shape.numel()
    numbers = np.random.SFC64(drawn_seed()).random_raw(-(-num_draws // DRAWS_PER_NUMBER))
    draws = torch.from_numpy(numbers.view(np.int16))[:num_draws].view(shape)
    # Draws have signs: the lowest of them are dropped.
    is_kept = draws >= num_dropped - NUM_VALUES // 2
    return is_kept.to(dtype).mul_(NUM_VALUES / (NUM_VALUES - num_dropped))


def drawn_seed() -> int:
    """Draws what seeds many draws, from PyTorch's own generator."""
    return int(torch.empty((), dtype=torch.int64).random_())
