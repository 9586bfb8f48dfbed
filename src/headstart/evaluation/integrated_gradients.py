"""Integrated gradients (Sundararajan et al. 2017): a difference, shared out among its causes.

On the straight way from a beginning, where nothing is said yet, to an input, the slopes of a
function add up to the difference that it makes. Each number of the input so has its share of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

# The points of one stretch of a way; n of them are exact for slopes of degree 2n - 1.
NUM_POINTS = 8
PLACES, WEIGHTS = np.polynomial.legendre.leggauss(NUM_POINTS)
# Slopes are found at no more points than this; a text of one row takes seconds then.
NUM_MOST_STEPS = 4_096
MOST_GAP = 0.01
# Numbers of the inputs that are worked on at once: some tens of points for a row of text.
NUM_NUMBERS_AT_ONCE = 1 << 20

# From points (P, ...) to the value of each (P,).
Function = Callable[[Tensor], Tensor]


@dataclass(frozen=True, kw_only=True)
class Way:
    """A function, and the straight way from where it begins to the input it is asked about."""

    function: Function
    start: Tensor
    end: Tensor

    def points(self, places: Sequence[float]) -> Tensor:
        """Returns points of the way, from 0 at its start to 1 at its end. Shape (P, ...)."""
        place = torch.tensor(places).to(self.start).view(-1, *[1] * self.start.dim())
        return self.start + place * (self.end - self.start)


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """A part of a way, the shares that were found along it, and what they should add up to."""

    way: Way
    begin: float
    end: float
    shares: Tensor
    begin_value: float
    end_value: float

    @property
    def error(self) -> float:
        """What the shares say too much."""
        return self.shares.double().sum().item() - (self.end_value - self.begin_value)


@dataclass(frozen=True, kw_only=True)
class Shares:
    """What each number of some inputs adds to the sum of their functions."""

    by_way: tuple[Tensor, ...]
    start_value: float
    end_value: float
    num_steps: int
    """The points at which slopes were found, on all ways together."""

    @property
    def total(self) -> float:
        """What all numbers add."""
        return sum(share.double().sum().item() for share in self.by_way)

    @property
    def gap(self) -> float:
        """How far that is from the difference to be explained, as a share of it."""
        difference = self.end_value - self.start_value
        missing = abs(self.total - difference)
        return missing / abs(difference) if difference else missing


def integrated_gradients(ways: Sequence[Way]) -> Shares:
    """Shares the difference out, and halves stretches until less than a hundredth is missing."""
    found = [first_stretch(way) for way in ways]
    difference = sum(one.end_value - one.begin_value for one in found)
    num_steps = NUM_POINTS * len(found)
    while abs(sum(one.error for one in found)) > MOST_GAP * abs(
        difference
    ) and num_steps < NUM_MOST_STEPS * len(ways):
        # What each stretch should add up to is known, and so where more points are needed: at the
        # kinks of a ReLU, where no fixed number of equal steps is enough.
        found.sort(key=lambda one: -abs(one.error))
        worst = [one for one in found if abs(one.error) > abs(found[0].error) / 4]
        halves = [half for one in worst for half in halved(one)]
        found = halves + found[len(worst) :]
        num_steps += NUM_POINTS * len(halves)
    return Shares(
        by_way=tuple(
            torch.stack([one.shares for one in found if one.way is way]).sum(dim=0) for way in ways
        ),
        start_value=sum(one.begin_value for one in found if one.begin == 0),
        end_value=sum(one.end_value for one in found if one.end == 1),
        num_steps=num_steps,
    )


def first_stretch(way: Way) -> Stretch:
    """Returns the whole of a way."""
    begin_value, end_value = values_at(way, [0, 1])
    return Stretch(
        way=way,
        begin=0,
        end=1,
        shares=shares_along(way, 0, 1),
        begin_value=begin_value,
        end_value=end_value,
    )


def halved(whole: Stretch) -> list[Stretch]:
    """Returns a stretch as two, whose shares are closer to the truth."""
    way, middle = whole.way, (whole.begin + whole.end) / 2
    (value,) = values_at(way, [middle])
    return [
        replace(whole, end=middle, end_value=value, shares=shares_along(way, whole.begin, middle)),
        replace(
            whole, begin=middle, begin_value=value, shares=shares_along(way, middle, whole.end)
        ),
    ]


@torch.no_grad()
def values_at(way: Way, places: Sequence[float]) -> list[float]:
    """Returns the values of a way's function at some places."""
    values: list[float] = way.function(way.points(places)).tolist()
    return values


def shares_along(way: Way, begin: float, end: float) -> Tensor:
    """Returns what each number adds on a stretch, by Gauss-Legendre quadrature."""
    places = (begin + (end - begin) * (PLACES + 1) / 2).tolist()
    weights = ((end - begin) * WEIGHTS / 2).tolist()
    slope = torch.zeros_like(way.start)
    num_at_once = max(1, NUM_NUMBERS_AT_ONCE // way.start.numel())
    for first in range(0, NUM_POINTS, num_at_once):
        points = way.points(places[first : first + num_at_once]).detach().requires_grad_()
        (slopes,) = torch.autograd.grad(way.function(points).sum(), points)
        for weight, one in zip(weights[first:], slopes, strict=False):
            slope += weight * one
    return slope * (way.end - way.start)
