"""Numbers that remember how they were computed, so that a formula shown is the formula used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Quantity:
    """A value with its formula in symbols and the same formula in numbers."""

    value: float
    formula: str
    numbers: str
    kind: Literal["symbol", "product", "sum"] = "symbol"
    """What the formula is at its top, and so where it needs brackets."""

    def __add__(self, other: Quantity | float) -> Quantity:
        """Returns the sum; adding nothing leaves no trace in the formula."""
        other = as_quantity(other)
        if other.value == 0:
            return self
        if self.value == 0:
            return other
        return Quantity(
            self.value + other.value,
            f"{self.formula} + {other.formula}",
            f"{self.numbers} + {other.numbers}",
            "sum",
        )

    __radd__ = __add__

    def __mul__(self, other: Quantity | float) -> Quantity:
        """Returns the product; multiplying by one leaves no trace in the formula."""
        other = as_quantity(other)
        if self.formula == "1":
            return other
        if other.formula == "1":
            return self
        return Quantity(
            self.value * other.value,
            f"{self.factor(self.formula)}·{other.factor(other.formula)}",
            f"{self.factor(self.numbers)}·{other.factor(other.numbers)}",
            "product",
        )

    def __rmul__(self, other: float) -> Quantity:
        """Returns the product with a plain number on the left."""
        return as_quantity(other) * self

    def __pow__(self, exponent: int) -> Quantity:
        """Returns a whole power."""
        raised = str(exponent).translate(SUPERSCRIPTS)
        return Quantity(
            self.value**exponent,
            f"{self.base(self.formula)}{raised}",
            f"{self.base(self.numbers)}{raised}",
            "product",
        )

    def factor(self, text: str) -> str:
        """Returns a text of this quantity as it stands inside a product."""
        return f"({text})" if self.kind == "sum" else text

    def base(self, text: str) -> str:
        """Returns a text of this quantity as it stands below an exponent."""
        return text if self.kind == "symbol" else f"({text})"


def symbol(name: str, value: float) -> Quantity:
    """Returns a named number, such as the width d."""
    return Quantity(value, name, f"{value:,}")


def as_quantity(value: Quantity | float) -> Quantity:
    """Returns a plain number as a quantity that is written as itself."""
    return value if isinstance(value, Quantity) else symbol(f"{value:,}", value)


def total(quantities: list[Quantity]) -> Quantity:
    """Returns the sum of quantities, 0 for none."""
    return sum(quantities, start=as_quantity(0))
