"""Where a piece stands: sinusoidal, rotary and learned positions.

Legend: B batch, T positions, D width, H heads, K width of a head, L longest length.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from headstart.models.inputs import Text
from headstart.models.pooling import at_places

BASE = 10_000.0


class Rotation(NamedTuple):
    """The cosines and sines by which queries and keys are turned, one angle for two numbers."""

    cosine_B1TK: Tensor
    sine_B1TK: Tensor

    def at(self, place_B: Tensor) -> "Rotation":
        """Returns the rotation of one position of each row."""
        return Rotation(*(at_places(table_B1TK[:, 0], place_B)[:, None] for table_B1TK in self))


def count_positions(text: Text) -> Tensor:
    """Numbers the real pieces of each document from 0, so that padding on the left moves none."""
    is_token_BT = torch.ones_like(text.tokens_BT) if text.is_token_BT is None else text.is_token_BT
    num_before_BT = is_token_BT.long().cumsum(dim=1) - is_token_BT.long()
    if text.document_BT is None:
        return num_before_BT
    is_start_BT = torch.ones_like(text.document_BT, dtype=torch.bool)
    is_start_BT[:, 1:] = text.document_BT[:, 1:] != text.document_BT[:, :-1]
    # Counts only grow along a row, so the running maximum is that of the latest start.
    num_before_document_BT = torch.where(is_start_BT, num_before_BT, 0).cummax(dim=1).values
    return num_before_BT - num_before_document_BT


def sinusoids(length: int, width: int) -> Tensor:
    """Sines at even and cosines at odd columns, of falling frequency (Vaswani et al. 2017)."""
    angle_LK = angles(length, width)
    table_LD = torch.stack([angle_LK.sin(), angle_LK.cos()], dim=-1).flatten(1)
    return table_LD[:, :width]


def angles(length: int, width: int) -> Tensor:
    """The angle of each position for each pair of columns, in doubles for late positions' sake."""
    exponent_K = torch.arange(0, width, 2, dtype=torch.float64) / width
    return torch.arange(length, dtype=torch.float64)[:, None] * BASE**-exponent_K


class SinusoidalPositions(nn.Module):
    """Adds to each vector the sines and cosines of its position; nothing is learned."""

    def __init__(self, max_length: int, width: int) -> None:
        super().__init__()
        # Not kept in checkpoints: the formula makes it again, at any length.
        self.register_buffer("table_LD", sinusoids(max_length, width).float(), persistent=False)
        self.table_LD: Tensor

    def forward(self, hidden_BTD: Tensor, position_BT: Tensor) -> Tensor:
        """Returns the vectors with their positions added."""
        return hidden_BTD + self.table_LD[position_BT]


class LearnedPositions(nn.Module):
    """Adds to each vector a learned one for its position, as BERT does."""

    def __init__(self, max_length: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(max_length, width)

    def forward(self, hidden_BTD: Tensor, position_BT: Tensor) -> Tensor:
        """Returns the vectors with their positions added."""
        position_BTD: Tensor = self.table(position_BT)
        return hidden_BTD + position_BTD


class RotaryPositions(nn.Module):
    """Holds the angles of every position (Su et al. 2021, halves turned together as in Llama)."""

    def __init__(self, max_length: int, head_width: int) -> None:
        super().__init__()
        angle_LK = torch.cat([angles(max_length, head_width)] * 2, dim=-1)
        self.register_buffer("cosine_LK", angle_LK.cos().float(), persistent=False)
        self.register_buffer("sine_LK", angle_LK.sin().float(), persistent=False)
        self.cosine_LK: Tensor
        self.sine_LK: Tensor

    def forward(self, position_BT: Tensor) -> Rotation:
        """Returns the rotation of each position."""
        return Rotation(self.cosine_LK[position_BT][:, None], self.sine_LK[position_BT][:, None])


def rotate(vector_BHTK: Tensor, rotation: Rotation) -> Tensor:
    """Turns queries or keys by their positions, so that their product knows only the distance."""
    first, second = vector_BHTK.chunk(2, dim=-1)
    turned_BHTK = torch.cat([-second, first], dim=-1)
    # The tables are in single precision and would widen queries and keys in half.
    return (vector_BHTK * rotation.cosine_B1TK + turned_BHTK * rotation.sine_B1TK).to(
        vector_BHTK.dtype
    )
