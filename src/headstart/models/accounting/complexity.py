"""What a layer costs as the length grows: attention, recurrence and convolution side by side.

After table 1 of *Attention is all you need*. Symbols: n length, d width, k kernel.
"""

import math
from dataclasses import dataclass

from headstart.errors import RecipeError
from headstart.models.accounting.quantity import Quantity, symbol
from headstart.models.config import require_whole


@dataclass(frozen=True, kw_only=True)
class LayerCost:
    """How one kind of layer scales."""

    kind: str
    operations: Quantity
    """Multiplications with their additions, for one layer over the whole sequence."""
    sequential_steps: Quantity
    """Operations that must wait for one another."""
    longest_path: Quantity
    """Layers that a signal passes between the two ends of the sequence."""


@dataclass(frozen=True, kw_only=True)
class Complexity:
    """The three kinds at one length, and where attention stops being the cheapest."""

    length: int
    width: int
    kernel: int
    layers: tuple[LayerCost, ...]

    def __post_init__(self) -> None:
        require_whole(self, "length", "width", at_least=1)
        if self.kernel < 2:
            raise RecipeError(
                f"The kernel is {self.kernel}; a convolution that looks at fewer than 2 positions "
                "never connects them. Choose 2 or more."
            )

    @property
    def cheapest(self) -> str:
        """The kind with the fewest operations."""
        return min(self.layers, key=lambda layer: layer.operations.value).kind

    @property
    def recurrent_is_cheaper_from(self) -> int:
        """The first length at which n²·d exceeds n·d²."""
        return self.width + 1

    @property
    def convolution_is_cheaper_from(self) -> int:
        """The first length at which n²·d exceeds k·n·d²."""
        return self.kernel * self.width + 1


@dataclass(frozen=True, kw_only=True)
class LayerTiming:
    """One kind of layer: its seconds by length, and how they grow."""

    kind: str
    seconds: tuple[float, ...]
    seen_exponent: float
    expected_exponent: float


@dataclass(frozen=True, kw_only=True)
class LayerTimings:
    """The three kinds over the same lengths."""

    lengths: tuple[int, ...]
    width: int
    kernel: int
    layers: tuple[LayerTiming, ...]


def complexity(length: int, width: int, kernel: int) -> Complexity:
    """Returns how the three kinds of layer scale at a length, a width and a kernel."""
    num_hops = math.ceil((length - 1) / max(1, kernel - 1))
    n, d, k = symbol("n", length), symbol("d", width), symbol("k", kernel)
    one = symbol("1", 1)
    layers = (
        LayerCost(
            kind="self-attention", operations=n**2 * d, sequential_steps=one, longest_path=one
        ),
        LayerCost(kind="recurrent", operations=n * d**2, sequential_steps=n, longest_path=n),
        LayerCost(
            kind="convolutional",
            operations=k * n * d**2,
            sequential_steps=one,
            # Without dilation each layer carries a signal k - 1 positions further.
            longest_path=Quantity(num_hops, "⌈(n - 1)/(k - 1)⌉", f"⌈{length - 1:,}/{kernel - 1:,}⌉")
            if length > 1
            else one,
        ),
    )
    return Complexity(length=length, width=width, kernel=kernel, layers=layers)
