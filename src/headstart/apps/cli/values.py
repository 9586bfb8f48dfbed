"""Values as people type them on a command line."""

import math
import re
from typing import Any

import click

from headstart.models.config import MOST as LARGEST_SIZE
from headstart.models.config import MOST_AVERAGED

SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9, "t": 10**12}
MOST = 10**15
SMALLEST_POSITIVE, LARGEST_POSITIVE = 1e-6, 1e9
# Commas between thousands only: in many languages 2,5 is two and a half.
THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+")
COUNT = re.compile(r"(\d+(?:\.\d+)?(?:e\d+)?)([kmgbt]?)", re.IGNORECASE)


class Count(click.ParamType[int]):
    """A whole number of at least 1 that may be written 300M, 2.5e9 or 1_000_000."""

    name = "count"

    def __init__(self, most: int = MOST) -> None:
        self.most = most

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Returns the number, or fails with a sentence."""
        text = str(value).replace("_", "")
        if THOUSANDS.fullmatch(text):
            text = text.replace(",", "")
        match = COUNT.fullmatch(text)
        number = float(match[1]) * SUFFIXES[match[2].lower()] if match else 0.0
        if not 1 <= number <= self.most or number != int(number):
            limit = "10^15, such as 2500, 300M or 2.5e9" if self.most == MOST else f"{self.most:,}"
            self.fail(f"{value!r} is not a whole number from 1 to {limit}.", param, ctx)
        return int(number)


class Positive(click.ParamType[float]):
    """A number above zero that a machine could have: no infinity, and nothing near it."""

    name = "number"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Returns the number, or fails with a sentence."""
        number = to_number(value)
        if not SMALLEST_POSITIVE <= number <= LARGEST_POSITIVE:
            limits = f"from {SMALLEST_POSITIVE:g} to {LARGEST_POSITIVE:g}"
            self.fail(f"{value!r} is not a number {limits}.", param, ctx)
        return number


class AtMost(click.ParamType[float]):
    """A number above zero and at most another."""

    name = "number"

    def __init__(self, most: float) -> None:
        self.most = most

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Returns the number, or fails with a sentence."""
        number = to_number(value)
        if not 0 < number <= self.most:
            limits = f"above 0 and at most {self.most:,.0f}"
            self.fail(f"{value!r} is not a number {limits}.", param, ctx)
        return number


class Share(click.ParamType[float]):
    """A number from 0 to below 1."""

    name = "share"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Returns the number, or fails with a sentence."""
        number = to_number(value)
        if not 0 <= number < 1:
            self.fail(f"{value!r} is not a number from 0 to below 1, such as 0.1.", param, ctx)
        return number


def to_number(value: str | float) -> float:
    """Returns the number that was typed, or none that is within any limits."""
    try:
        return float(value)
    except ValueError:
        return math.nan


class Number(click.ParamType[float]):
    """Any number; what it is for says which are allowed."""

    name = "number"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Returns the number, or fails with a sentence."""
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number, such as 0.8.", param, ctx)


class Whole(click.IntRange):
    """A whole number between two others, or of at least one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Returns the number, or fails with a sentence."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            limits = f"of at least {self.min}"
            if self.max is not None:
                limits = f"from {self.min} to {self.max:,}"
            self.fail(f"{value!r} is not a whole number {limits}.", param, ctx)


# A wider one would hold all beginnings of a batch in memory at once, and find nothing better.
BEAM_TYPE = Whole(1, 64)
COUNT_TYPE = Count()
NUMBER_TYPE = Number()
# As much as any size in a config may be.
SIZE_TYPE = Count(LARGEST_SIZE)
AVERAGED_TYPE = Count(MOST_AVERAGED)
SHARE_TYPE = Share()
RATE_TYPE = AtMost(1)
POSITIVE_TYPE = Positive()
