"""A size usually quoted for a model beside the exact one, and where the difference lies."""

from collections.abc import Mapping
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
    vocabulary_that_matches: int
    """The vocabulary with which this shape has the quoted count."""


# Attention is all you need, table 3, gives 65 × 10⁶ for the base model.
QUOTED_COUNTS: Mapping[str, tuple[int, str]] = {
    "base": (65_000_000, "Attention is all you need, table 3"),
}


def quoted(name: str, config: ModelConfig) -> Quoted | None:
    """Returns the comparison for a recipe whose size is quoted somewhere, or None."""
    if name not in QUOTED_COUNTS or not isinstance(config.trunk, EncoderDecoderConfig):
        return None
    count, source = QUOTED_COUNTS[name]
    exact = count_parameters(config)
    num_missing_rows = round((count - exact) / config.trunk.width)
    return Quoted(
        count=count,
        source=source,
        exact=exact,
        readings=other_readings(config, config.trunk),
        vocabulary_that_matches=config.trunk.vocabulary_size + num_missing_rows,
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
