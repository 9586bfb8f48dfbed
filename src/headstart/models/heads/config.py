"""The shapes of heads, and of a model: a trunk with a head. Free of torch."""

from dataclasses import dataclass
from typing import Literal, get_args

from headstart.errors import RecipeError
from headstart.models.config import (
    MOST,
    AnyTrunkConfig,
    EncoderDecoderConfig,
    TrunkConfig,
    require_choice,
    require_whole,
)

Pooling = Literal["last", "mean", "first"]


@dataclass(frozen=True, kw_only=True)
class LanguageHeadConfig:
    """A score for each piece at each position; tied, it reuses the embedding as its matrix."""

    is_tied: bool
    has_bias: bool


@dataclass(frozen=True, kw_only=True)
class LabelHeadConfig:
    """A score for each label from one vector a text: the last real, the mean, or the first."""

    num_labels: int
    pooling: Pooling

    def __post_init__(self) -> None:
        require_choice("pooling", self.pooling, get_args(Pooling))
        require_whole(self, "num_labels", at_least=2, at_most=MOST)


@dataclass(frozen=True, kw_only=True)
class LanguageAndNextHeadConfig:
    """BERT's pair: hidden pieces from each position, and next-sentence from the first vector."""

    language: LanguageHeadConfig


HeadConfig = LanguageHeadConfig | LabelHeadConfig | LanguageAndNextHeadConfig


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """A trunk and the head upon it."""

    trunk: AnyTrunkConfig
    head: HeadConfig

    def __post_init__(self) -> None:
        if isinstance(self.trunk, EncoderDecoderConfig) and not isinstance(
            self.head, LanguageHeadConfig
        ):
            raise RecipeError(
                "An encoder-decoder writes a translation, so its head must be a language head. "
                "For labels choose a recipe with one trunk, such as compact."
            )
        if isinstance(self.trunk, TrunkConfig) and self.trunk.attends_to_source:
            raise RecipeError(
                "A trunk that attends to a source stands alone; it needs an encoder that reads one."
            )
