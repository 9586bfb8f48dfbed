"""A size usually quoted for a model beside the exact one, and where the difference lies."""

import math
from dataclasses import dataclass, replace

from headstart.models.accounting.parameters import count_parameters, norm_parameters
from headstart.models.config import EncoderDecoderConfig, TrunkConfig
from headstart.models.heads.config import LanguageHeadConfig, ModelConfig


@dataclass(frozen=True, kw_only=True)
class Quoted:
    """A quoted count, and what other readings of the same description would add to ours."""

    count: int
    source: str
    exact: int
    readings: dict[str, int]
    smallest_vocabulary: int
    """With fewer pieces this shape has less than what rounds to the quoted count."""
    largest_vocabulary: int
    """With more pieces it has more."""


# Attention is all you need, table 3, gives 65 × 10⁶ for the base model, rounded to millions.
QUOTED_COUNT, NUM_ROUNDING, SOURCE = 65_000_000, 500_000, "Attention is all you need, table 3"
QUOTED_VOCABULARY, QUOTED_SHAPE = 37_000, (6, 6, 512, 8, 2_048)


def quoted(config: ModelConfig) -> Quoted | None:
    """Returns the comparison for the shape whose size is quoted, or None for any other."""
    trunk = config.trunk
    if not isinstance(trunk, EncoderDecoderConfig) or shape(trunk) != QUOTED_SHAPE:
        return None
    if trunk.vocabulary_size != QUOTED_VOCABULARY:
        return None
    exact = count_parameters(config)
    # Shared and tied, one more piece costs exactly one row of the width.
    lowest, highest = (
        trunk.vocabulary_size + (QUOTED_COUNT + rounding - exact) / trunk.width
        for rounding in (-NUM_ROUNDING, NUM_ROUNDING)
    )
    return Quoted(
        count=QUOTED_COUNT,
        source=SOURCE,
        exact=exact,
        readings=other_readings(config, trunk),
        smallest_vocabulary=math.ceil(lowest),
        largest_vocabulary=math.floor(highest),
    )


def shape(trunk: EncoderDecoderConfig) -> tuple[int, int, int, int, int]:
    """Returns the sizes by which the paper describes a model."""
    layer = trunk.encoder.layer
    return (
        trunk.encoder.num_layers,
        trunk.decoder.num_layers,
        layer.width,
        layer.num_heads,
        layer.feed_forward_width,
    )


def other_readings(config: ModelConfig, trunk: EncoderDecoderConfig) -> dict[str, int]:
    """Returns by how much the count would change, read in ways that the description allows."""
    exact = count_parameters(config)
    norm = int(norm_parameters(trunk.decoder.layer).value)
    unshared = replace(config, trunk=replace(trunk, shares_embedding=False))
    untied = replace(unshared, head=LanguageHeadConfig(is_tied=False, has_bias=False))
    biased = replace(config, head=LanguageHeadConfig(is_tied=True, has_bias=True))
    return {
        "no biases in attention": -attention_biases(trunk.encoder)
        - attention_biases(trunk.decoder),
        "a norm after each stack": 2 * norm,
        "a bias in the head": count_parameters(biased) - exact,
        "an embedding for each side": count_parameters(unshared) - exact,
        "an embedding for each side and a head of its own": count_parameters(untied) - exact,
    }


def attention_biases(config: TrunkConfig) -> int:
    """The biases of a stack's attentions."""
    num_attentions = config.num_layers * (2 if config.attends_to_source else 1)
    return 4 * config.width * num_attentions if config.layer.has_bias else 0
