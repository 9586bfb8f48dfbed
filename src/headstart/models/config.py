"""The shapes of layers and trunks: frozen, valid from birth, and free of torch."""

from dataclasses import dataclass
from typing import Literal, get_args

from headstart.errors import RecipeError

Direction = Literal["causal", "bidirectional"]
FeedForwardKind = Literal["relu", "gelu", "gated-silu"]
NormKind = Literal["layer", "rms"]
NormPlace = Literal["post", "pre"]
PositionKind = Literal["sinusoidal", "rotary", "learned"]

# Two such sizes make a matrix that PyTorch can still count.
MOST = 100_000_000
# More weights than these are not averaged: each is kept until then.
MOST_AVERAGED = 100
# Enough to find a divisor near any number of heads that somebody would ask for.
MOST_HEADS_SUGGESTED = 1_024


@dataclass(frozen=True, kw_only=True)
class LayerConfig:
    """The shape of one Transformer layer."""

    width: int
    num_heads: int
    feed_forward_width: int
    feed_forward: FeedForwardKind
    norm: NormKind
    norm_place: NormPlace
    has_bias: bool = True
    dropout: float = 0.0

    def __post_init__(self) -> None:
        require_whole(self, "width", "num_heads", "feed_forward_width", at_least=1, at_most=MOST)
        require_choice("feed_forward", self.feed_forward, get_args(FeedForwardKind))
        require_choice("norm", self.norm, get_args(NormKind))
        require_choice("norm_place", self.norm_place, get_args(NormPlace))
        if self.width % self.num_heads:
            likely = range(1, min(self.width, MOST_HEADS_SUGGESTED) + 1)
            divisors = [heads for heads in likely if self.width % heads == 0]
            near = sorted(sorted(divisors, key=lambda heads: abs(heads - self.num_heads))[:4])
            raise RecipeError(
                f"num_heads is {self.num_heads}, which does not divide the width {self.width}. "
                f"Choose a divisor such as {', '.join(map(str, near))}."
            )
        if not 0 <= self.dropout < 1:
            raise RecipeError(f"dropout is {self.dropout}; it must be at least 0 and below 1.")

    @property
    def head_width(self) -> int:
        """The width of one attention head."""
        return self.width // self.num_heads

    @property
    def is_gated(self) -> bool:
        """Whether the feed-forward multiplies its inside by a learned gate."""
        return self.feed_forward.startswith("gated-")


@dataclass(frozen=True, kw_only=True)
class TrunkConfig:
    """The shape of a stack of layers with its embeddings: everything below the head."""

    vocabulary_size: int
    num_layers: int
    layer: LayerConfig
    direction: Direction
    positions: PositionKind
    max_length: int
    num_segments: int = 0
    scales_embedding: bool = False
    has_embedding_norm: bool = False
    attends_to_source: bool = False

    def __post_init__(self) -> None:
        require_whole(self, "vocabulary_size", "num_layers", "max_length", at_least=1, at_most=MOST)
        require_whole(self, "num_segments", at_least=0, at_most=MOST)
        require_choice("direction", self.direction, get_args(Direction))
        require_choice("positions", self.positions, get_args(PositionKind))
        if self.positions == "rotary" and self.layer.head_width % 2:
            raise RecipeError(
                f"Rotary positions turn pairs, but a head is {self.layer.head_width} wide (width "
                f"{self.layer.width}, {self.layer.num_heads} heads). Choose an even one."
            )

    @property
    def width(self) -> int:
        """The width of every hidden vector."""
        return self.layer.width

    @property
    def reading_stack(self) -> "TrunkConfig":
        """The stack that reads: this one."""
        return self

    @property
    def writing_stack(self) -> "TrunkConfig":
        """The stack that the head stands on: this one."""
        return self

    def check_length(self, length: int) -> None:
        """Raises an error unless sequences of `length` pieces have a position for each piece."""
        if not 1 <= length <= self.max_length:
            raise RecipeError(
                f"A length of {length:,} is outside what the {self.positions} positions of this "
                f"trunk allow. Choose one from 1 to {self.max_length:,}."
            )


@dataclass(frozen=True, kw_only=True)
class EncoderDecoderConfig:
    """The shape of a trunk that reads a source and writes a target."""

    encoder: TrunkConfig
    decoder: TrunkConfig
    shares_embedding: bool

    def __post_init__(self) -> None:
        if self.encoder.direction != "bidirectional":
            raise RecipeError(
                f"The encoder is {self.encoder.direction}; it must be bidirectional, since the "
                "whole source is there to be read."
            )
        if self.encoder.attends_to_source:
            raise RecipeError("The encoder attends to a source; it is the source, and must not.")
        if self.decoder.direction != "causal":
            raise RecipeError(
                f"The decoder is {self.decoder.direction}; it must be causal, since it writes one "
                "piece after another."
            )
        if not self.decoder.attends_to_source:
            raise RecipeError("The decoder attends to no source; it must attend to the encoder.")
        if self.encoder.width != self.decoder.width:
            raise RecipeError(
                f"The encoder is {self.encoder.width} wide and the decoder {self.decoder.width}; "
                "they must be equal, since the decoder reads the encoder's vectors."
            )
        if self.shares_embedding and self.encoder.vocabulary_size != self.decoder.vocabulary_size:
            raise RecipeError(
                f"The encoder knows {self.encoder.vocabulary_size:,} pieces and the decoder "
                f"{self.decoder.vocabulary_size:,}; a shared embedding needs one vocabulary."
            )

    @property
    def width(self) -> int:
        """The width of every hidden vector."""
        return self.decoder.width

    @property
    def vocabulary_size(self) -> int:
        """The number of pieces that the target is written in."""
        return self.decoder.vocabulary_size

    @property
    def reading_stack(self) -> TrunkConfig:
        """The stack that reads: the encoder."""
        return self.encoder

    @property
    def writing_stack(self) -> TrunkConfig:
        """The stack that the head stands on: the decoder."""
        return self.decoder

    def check_length(self, length: int) -> None:
        """Raises an error unless both sides have a position for each of `length` pieces."""
        self.encoder.check_length(length)
        self.decoder.check_length(length)


AnyTrunkConfig = TrunkConfig | EncoderDecoderConfig


def require_whole(config: object, *names: str, at_least: int, at_most: int | None = None) -> None:
    """Raises an error for the first named field that is no whole number, or one out of bounds."""
    for name in names:
        value = getattr(config, name)
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if not is_whole or value < at_least or (at_most is not None and value > at_most):
            limits = (
                f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most:,}"
            )
            raise RecipeError(f"{name} is {value!r}; it must be a whole number {limits}.")


def require_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raises an error unless the value of the field `name` is one of its choices."""
    if value not in choices:
        raise RecipeError(f"{name} is {value!r}. Choose one of: {', '.join(choices)}.")
