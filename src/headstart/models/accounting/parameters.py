"""Parameters by part, each from a formula over the shape; free of torch.

Symbols: V pieces, d width, f feed-forward width, L positions, s segments, C labels.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from headstart.models.accounting.quantity import Quantity, as_quantity, symbol, total
from headstart.models.config import AnyTrunkConfig, LayerConfig, TrunkConfig
from headstart.models.heads.config import (
    HeadConfig,
    LabelHeadConfig,
    LanguageHeadConfig,
    ModelConfig,
)

NORM_MODULES = ("attention_norm", "cross_attention_norm", "feed_forward_norm")


@dataclass(frozen=True, kw_only=True)
class Part:
    """One row of the ledger: so many copies of a thing of so many parameters."""

    name: str
    each: Quantity
    copies: int = 1
    prefixes: tuple[str, ...]
    """How the names of its parameters begin in the built model."""
    inside: tuple["Part", ...] = ()
    """The same parameters again, one level deeper."""

    @property
    def count(self) -> int:
        """The parameters of all copies."""
        return int(self.each.value) * self.copies


def model_parts(config: ModelConfig) -> tuple[Part, ...]:
    """Returns the parts of a model; their counts sum to the whole."""
    return (*trunk_parts(config.trunk, "trunk."), head_part(config.head, config.trunk))


def trunk_parts(config: AnyTrunkConfig, prefix: str) -> tuple[Part, ...]:
    """Returns the parts of a trunk; a shared embedding is counted once, with the encoder."""
    if isinstance(config, TrunkConfig):
        return tuple(stack_parts(config, prefix, ""))
    encoder = stack_parts(config.encoder, f"{prefix}encoder.", "encoder ")
    decoder = stack_parts(config.decoder, f"{prefix}decoder.", "decoder ")
    if not config.shares_embedding:
        return (*encoder, *decoder)
    shared, *rest = encoder
    return (replace(shared, name="embedding (shared)"), *rest, *islice(decoder, 1, None))


def stack_parts(config: TrunkConfig, prefix: str, side: str) -> Iterator[Part]:
    """Yields the parts of one stack of layers, from the embedding up."""
    vocabulary, width = symbol("V", config.vocabulary_size), symbol("d", config.width)
    yield Part(
        name=f"{side}embedding",
        each=vocabulary * width,
        prefixes=(f"{prefix}embedding.tokens.",),
    )
    # Tables of angles are no parameters; claimed, so that the census finds one that became so.
    is_learned = config.positions == "learned"
    yield Part(
        name=f"{side}positions ({config.positions})",
        each=symbol("L", config.max_length) * width if is_learned else as_quantity(0),
        prefixes=(f"{prefix}embedding.positions.", f"{prefix}rotary."),
    )
    if config.num_segments:
        segments = symbol("s", config.num_segments) * width
        yield Part(
            name=f"{side}segments", each=segments, prefixes=(f"{prefix}embedding.segments.",)
        )
    if config.has_embedding_norm:
        yield Part(
            name=f"{side}embedding norm",
            each=norm_parameters(config.layer),
            prefixes=(f"{prefix}embedding.norm.",),
        )
    yield from layer_parts(config, prefix, side)
    if config.layer.norm_place == "pre":
        final = norm_parameters(config.layer)
        yield Part(name=f"{side}final norm", each=final, prefixes=(f"{prefix}norm.",))


def layer_parts(config: TrunkConfig, prefix: str, side: str) -> Iterator[Part]:
    """Yields the layers; the first stands apart where the embedding's norm serves as its own."""
    layers = range(config.num_layers)
    if not (config.has_embedding_norm and config.layer.norm_place == "pre"):
        yield layer_part(config, f"{side}layers", prefix, layers, num_branches(config))
        return
    num_norms = num_branches(config) - 1
    yield layer_part(config, f"{side}first layer", prefix, layers[:1], num_norms)
    if len(layers) > 1:
        yield layer_part(config, f"{side}other layers", prefix, layers[1:], num_branches(config))


def layer_part(config: TrunkConfig, name: str, prefix: str, layers: range, num_norms: int) -> Part:
    """Returns so many equal layers as one part."""
    layer = config.layer
    inside: list[tuple[str, tuple[str, ...], Quantity]] = [
        ("attention", ("attention",), attention_parameters(layer))
    ]
    if config.attends_to_source:
        inside.append(("cross-attention", ("cross_attention",), attention_parameters(layer)))
    inside.append(("feed-forward", ("feed_forward",), feed_forward_parameters(layer)))
    inside.append(("norms", NORM_MODULES, num_norms * norm_parameters(layer)))
    rows = tuple(
        Part(
            name=row,
            each=each,
            copies=len(layers),
            prefixes=tuple(f"{prefix}layers.{i}.{module}." for i in layers for module in modules),
        )
        for row, modules, each in inside
    )
    return Part(
        name=name,
        each=total([row.each for row in rows]),
        copies=len(layers),
        prefixes=tuple(f"{prefix}layers.{i}." for i in layers),
        inside=rows,
    )


def num_branches(config: TrunkConfig) -> int:
    """The branches of a layer, each of which has a norm: attentions and the feed-forward."""
    return 3 if config.attends_to_source else 2


def head_part(config: HeadConfig, trunk: AnyTrunkConfig) -> Part:
    """Returns the head as a part."""
    width = symbol("d", trunk.width)
    if isinstance(config, LabelHeadConfig):
        labels = symbol("C", config.num_labels)
        return Part(name="label head", each=width * labels + labels, prefixes=("head.",))
    if isinstance(config, LanguageHeadConfig):
        each = language_parameters(config, trunk)
        name = "language head (tied to the embedding)" if config.is_tied else "language head"
        return Part(name=name, each=each, prefixes=("head.",))
    language = Part(
        name="language",
        each=language_parameters(config.language, trunk),
        prefixes=("head.language.",),
    )
    next_sentence = Part(
        name="next-sentence",
        each=linear_parameters(width, width) + (2 * width + 2),
        prefixes=("head.next_sentence.",),
    )
    return Part(
        name="language and next-sentence heads",
        each=language.each + next_sentence.each,
        prefixes=("head.",),
        inside=(language, next_sentence),
    )


def language_parameters(config: LanguageHeadConfig, trunk: AnyTrunkConfig) -> Quantity:
    """The parameters of a language head; tied, only its bias is its own."""
    vocabulary, width = symbol("V", trunk.vocabulary_size), symbol("d", trunk.width)
    matrix = as_quantity(0) if config.is_tied else vocabulary * width
    return matrix + (vocabulary if config.has_bias else 0)


def attention_parameters(layer: LayerConfig) -> Quantity:
    """Queries, keys, values and output: four square matrices and, where there are any, biases."""
    width = symbol("d", layer.width)
    return 4 * (width**2 + (width if layer.has_bias else 0))


def feed_forward_parameters(layer: LayerConfig) -> Quantity:
    """Two matrices, or three where the inside is gated, and their biases."""
    width, inner = symbol("d", layer.width), symbol("f", layer.feed_forward_width)
    num_widening = 2 if layer.is_gated else 1
    if not layer.has_bias:
        return (num_widening + 1) * (width * inner)
    return num_widening * linear_parameters(width, inner) + linear_parameters(inner, width)


def norm_parameters(layer: LayerConfig) -> Quantity:
    """A gain for each column and, for a layer norm with biases, a shift."""
    has_shift = layer.norm == "layer" and layer.has_bias
    return (2 if has_shift else 1) * symbol("d", layer.width)


def linear_parameters(width_in: Quantity, width_out: Quantity) -> Quantity:
    """A matrix and a bias."""
    return width_in * width_out + width_out


def trainable_count(parts: Sequence[Part], *, is_frozen: bool) -> int:
    """The parameters that learn: all of them, or on a frozen trunk those of the head, the last."""
    return parts[-1].count if is_frozen else sum(part.count for part in parts)


def count_parameters(config: ModelConfig) -> int:
    """Returns the parameters of a model, from the formulas."""
    return sum(part.count for part in model_parts(config))
