"""The shorthand counts that circulate, what each leaves out, and by how much it is wrong here.

Symbols: N layers, d width.
"""

from dataclasses import dataclass

from headstart.models.accounting.parameters import (
    attention_parameters,
    feed_forward_parameters,
    norm_parameters,
)
from headstart.models.accounting.quantity import Quantity, symbol
from headstart.models.config import AnyTrunkConfig, EncoderDecoderConfig, LayerConfig


@dataclass(frozen=True, kw_only=True)
class Shorthand:
    """A rough count beside the exact one, with all that lies between them."""

    about: str
    rough: Quantity
    exact: int
    leaves_out: dict[str, int]
    """What the rough count leaves out; negative where it counts something that is not there."""

    @property
    def error(self) -> int:
        """By how many parameters the rough count is wrong; negative where it counts too few."""
        return int(self.rough.value) - self.exact


def shorthands(config: AnyTrunkConfig) -> tuple[Shorthand, ...]:
    """Returns the shorthand counts for a stack; of an encoder-decoder, for its encoder."""
    is_pair = isinstance(config, EncoderDecoderConfig)
    stack = config.reading_stack
    layer, num_layers = stack.layer, stack.num_layers
    width, layers = symbol("d", layer.width), symbol("N", num_layers)
    side = "encoder " if is_pair else ""
    square = layer.width**2
    biases = small_parts(layer)
    return (
        shorthand(
            f"one {side}layer",
            5 * width**2,
            {"attention's output matrix": square} | feed_forward_beyond(layer, 2) | biases,
        ),
        shorthand(
            f"attention of all {num_layers} {side}layers",
            3 * layers * width**2 + width**2,
            {
                "an output matrix for each layer but one": (num_layers - 1) * square,
                "biases": num_layers * (int(attention_parameters(layer).value) - 4 * square),
            },
        ),
        shorthand(f"one {side}layer", 12 * width**2, feed_forward_beyond(layer, 8) | biases),
    )


def shorthand(about: str, rough: Quantity, leaves_out: dict[str, int]) -> Shorthand:
    """Returns a rough count with its omissions, those of no size left away."""
    return Shorthand(
        about=about,
        rough=rough,
        exact=int(rough.value) + sum(leaves_out.values()),
        leaves_out={what: count for what, count in leaves_out.items() if count},
    )


def feed_forward_beyond(layer: LayerConfig, num_squares: int) -> dict[str, int]:
    """The feed-forward's matrices beyond the squares d × d that a shorthand gives it."""
    num_matrices = 3 if layer.is_gated else 2
    shape = f"{num_matrices} × {layer.width:,} × {layer.feed_forward_width:,}"
    return {
        f"feed-forward matrices {shape} instead of {num_squares}·d²": feed_forward_matrices(layer)
        - num_squares * layer.width**2
    }


def feed_forward_matrices(layer: LayerConfig) -> int:
    """The numbers in the feed-forward's matrices alone."""
    return (3 if layer.is_gated else 2) * layer.width * layer.feed_forward_width


def small_parts(layer: LayerConfig) -> dict[str, int]:
    """The biases and norms of one layer."""
    attention_biases = int(attention_parameters(layer).value) - 4 * layer.width**2
    inner_biases = int(feed_forward_parameters(layer).value) - feed_forward_matrices(layer)
    return {
        "biases": attention_biases + inner_biases,
        "norms": 2 * int(norm_parameters(layer).value),
    }
