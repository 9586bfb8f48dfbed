"""Values as people type them on a command line."""

import math
import re

import click

SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9, "t": 10**12}
MOST = 10**15
SMALLEST_POSITIVE, LARGEST_POSITIVE = 1e-6, 1e9
# Commas between thousands only: in many languages 2,5 is two and a half.
THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+")
COUNT = re.compile(r"(\d+(?:\.\d+)?(?:e\d+)?)([kmgbt]?)", re.IGNORECASE)


class Count(click.ParamType[int]):
    """A whole number of at least 1 that may be written 300M, 2.5e9 or 1_000_000."""

    name = "count"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Returns the number, or fails with a sentence."""
        text = str(value).replace("_", "")
        if THOUSANDS.fullmatch(text):
            text = text.replace(",", "")
        match = COUNT.fullmatch(text)
        number = float(match[1]) * SUFFIXES[match[2].lower()] if match else 0.0
        if not 1 <= number <= MOST or number != int(number):
            self.fail(
                f"{value!r} is not a whole number from 1 to 10^15, such as 2500, 300M or 2.5e9.",
                param,
                ctx,
            )
        return int(number)


class Positive(click.ParamType[float]):
    """A number above zero that a machine could have: no infinity, and nothing near it."""

    name = "number"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Returns the number, or fails with a sentence."""
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not SMALLEST_POSITIVE <= number <= LARGEST_POSITIVE:
            limits = f"from {SMALLEST_POSITIVE:g} to {LARGEST_POSITIVE:g}"
            self.fail(f"{value!r} is not a number {limits}.", param, ctx)
        return number


class Share(click.ParamType[float]):
    """A number from 0 to below 1."""

    name = "share"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Returns the number, or fails with a sentence."""
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not 0 <= number < 1:
            self.fail(f"{value!r} is not a number from 0 to below 1, such as 0.1.", param, ctx)
        return number


COUNT_TYPE = Count()
SHARE_TYPE = Share()
POSITIVE_TYPE = Positive()
