"""Pieces drawn by their probability, sharpened by a temperature and cut to the likeliest.

Legend: B rows, V pieces.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from headstart.decoding.one_by_one import decode_one_by_one
from headstart.decoding.strategy import Hypotheses, Limits, NextToken
from headstart.errors import RecipeError
from headstart.models.inputs import Text
from headstart.randomness import NUM_SEED_BITS, derive_seed

# What a double holds exactly, so that no draw is rounded up to 1.
NUM_DRAWN_BITS = 53


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Draws each piece; the draw depends on seed, position and row, and on nothing drawn before."""

    temperature: float = 1.0
    top_k: int | None = None
    """Only so many of the likeliest pieces have a chance."""
    top_p: float = 1.0
    """Only the likeliest pieces have a chance that together have this probability."""
    seed: int = 0
    row_numbers: tuple[int, ...] | None = None
    """What rows are known by to their draws, where they are some of more; else their places."""

    def __post_init__(self) -> None:
        if not 0 < self.temperature < math.inf:
            raise RecipeError(
                f"The temperature is {self.temperature:g}; it must be above 0 and finite. For the "
                "most probable piece each time, choose the strategy greedy."
            )
        if self.top_k is not None and self.top_k < 1:
            raise RecipeError(f"The top-k is {self.top_k}; at least 1 piece must have a chance.")
        if not 0 < self.top_p <= 1:
            raise RecipeError(f"The top-p is {self.top_p:g}; it must be above 0 and at most 1.")

    def decode(self, next_token: NextToken, prefix: Text, limits: Limits) -> Hypotheses:
        """Returns one hypothesis for each prefix."""
        return decode_one_by_one(next_token, prefix, limits, self.draw)

    def draw(self, logits_BV: Tensor, position: int, rows: Sequence[int]) -> Tensor:
        """Draws one piece for each row."""
        probability_BV = self.probabilities(logits_BV)
        numbers = rows if self.row_numbers is None else [self.row_numbers[row] for row in rows]
        uniform_B = [uniform(self.seed, position, number) for number in numbers]
        return at_share(probability_BV, torch.tensor(uniform_B, dtype=torch.float64))

    def probabilities(self, logits_BV: Tensor) -> Tensor:
        """Returns the chance of each piece. Shape (B, V)."""
        logits_BV = logits_BV.double() / self.temperature
        if self.top_k is not None:
            logits_BV = cut_to_count(logits_BV, self.top_k)
        if self.top_p < 1:
            logits_BV = cut_to_share(logits_BV, self.top_p)
        return logits_BV.softmax(dim=1)


def uniform(seed: int, position: int, row: int) -> float:
    """Returns a number from 0 to below 1: the same for the same seed, position and row."""
    bits = derive_seed(seed, "sampling", position, row) >> (NUM_SEED_BITS - NUM_DRAWN_BITS)
    return bits / (1 << NUM_DRAWN_BITS)


def at_share(probability_BV: Tensor, share_B: Tensor) -> Tensor:
    """Returns, in each row, the piece at which the sum of the chances goes beyond a share."""
    sum_BV = probability_BV.double().cumsum(dim=1)
    goal_B1 = share_B[:, None].to(sum_BV.device) * sum_BV[:, -1:]
    return torch.searchsorted(sum_BV, goal_B1, right=True)[:, 0]


def cut_to_count(logits_BV: Tensor, count: int) -> Tensor:
    """Leaves a chance to the `count` highest logits, and to those that equal the last of them."""
    least_B1 = logits_BV.topk(min(count, logits_BV.shape[1]), dim=1).values[:, -1:]
    return logits_BV.masked_fill(logits_BV < least_B1, -torch.inf)


def cut_to_share(logits_BV: Tensor, share: float) -> Tensor:
    """Leaves a chance to the fewest pieces, likeliest first, that together have this probability.

    The nucleus of Holtzman et al. (2020).
    """
    sorted_BV, order_BV = logits_BV.sort(dim=1, descending=True, stable=True)
    probability_BV = sorted_BV.softmax(dim=1)
    before_BV = probability_BV.cumsum(dim=1) - probability_BV
    kept_BV = sorted_BV.masked_fill(before_BV >= share, -torch.inf)
    return torch.empty_like(logits_BV).scatter(1, order_BV, kept_BV)
