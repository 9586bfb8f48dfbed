"""Values as people type them on a command line."""

import re

import click

SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9, "t": 10**12}
COUNT = re.compile(r"(\d+(?:\.\d+)?(?:e\d+)?)([kmgbt]?)", re.IGNORECASE)


class Count(click.ParamType[int]):
    """A whole number of at least 1 that may be written 300M, 2.5e9 or 1_000_000."""

    name = "count"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Returns the number, or fails with a sentence."""
        text = str(value).replace("_", "").replace(",", "")
        match = COUNT.fullmatch(text)
        number = float(match[1]) * SUFFIXES[match[2].lower()] if match else 0.0
        if number < 1 or number != int(number):
            self.fail(
                f"{value!r} is not a whole number of at least 1, such as 2500, 300M or 2.5e9.",
                param,
                ctx,
            )
        return int(number)


COUNT_TYPE = Count()
