"""The shapes of heads, and which trunk each may stand upon."""

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.errors import RecipeError
from headstart.models.config import MOST, EncoderDecoderConfig, LayerConfig, TrunkConfig
from headstart.models.heads.config import (
    LabelHeadConfig,
    LanguageAndNextHeadConfig,
    LanguageHeadConfig,
    ModelConfig,
)

LAYER = LayerConfig(
    width=12,
    num_heads=3,
    feed_forward_width=8,
    feed_forward="relu",
    norm="layer",
    norm_place="post",
)
ENCODER = TrunkConfig(
    vocabulary_size=100,
    num_layers=2,
    layer=LAYER,
    direction="bidirectional",
    positions="sinusoidal",
    max_length=64,
)
PAIR = EncoderDecoderConfig(
    encoder=ENCODER,
    decoder=dataclasses.replace(ENCODER, direction="causal", attends_to_source=True),
    shares_embedding=True,
)
LANGUAGE = LanguageHeadConfig(is_tied=True, has_bias=True)
LABELS = LabelHeadConfig(num_labels=3, pooling="mean")
LANGUAGE_AND_NEXT = LanguageAndNextHeadConfig(language=LANGUAGE)
HEADS = [LANGUAGE, LABELS, LANGUAGE_AND_NEXT]


def kind(config: object) -> str:
    return type(config).__name__


@pytest.mark.parametrize("num_labels", [-3, 0, 1])
def test_a_classifier_needs_two_labels(num_labels):
    with pytest.raises(RecipeError, match=rf"^num_labels is {num_labels}; .*from 2 to [\d,]+\.$"):
        LabelHeadConfig(num_labels=num_labels, pooling="mean")


@pytest.mark.parametrize("num_labels", [2.5, "3", None])
def test_labels_must_be_a_whole_number(num_labels):
    with pytest.raises(RecipeError, match="labels"):
        LabelHeadConfig(num_labels=num_labels, pooling="mean")


@pytest.mark.parametrize("pooling", ["", "max", None])
def test_a_pooling_must_be_one_of_its_choices(pooling):
    sentence = f"pooling is {pooling!r}. Choose one of: last, mean, first."
    with pytest.raises(RecipeError, match=f"^{re.escape(sentence)}$"):
        LabelHeadConfig(num_labels=2, pooling=pooling)


@pytest.mark.parametrize("pooling", ["last", "mean", "first"])
def test_every_pooling_is_accepted(pooling):
    assert LabelHeadConfig(num_labels=2, pooling=pooling).pooling == pooling


@given(num_labels=st.integers())
def test_any_whole_number_gives_a_valid_head_or_a_recipe_error(num_labels):
    try:
        head = LabelHeadConfig(num_labels=num_labels, pooling="first")
    except RecipeError:
        assert not 2 <= num_labels <= MOST
    else:
        assert head.num_labels >= 2


@pytest.mark.parametrize("head", HEADS, ids=kind)
def test_every_head_stands_upon_one_trunk(head):
    assert ModelConfig(trunk=ENCODER, head=head).head is head


def test_a_language_head_stands_upon_an_encoder_decoder():
    assert ModelConfig(trunk=PAIR, head=LANGUAGE).trunk is PAIR


@pytest.mark.parametrize("head", [LABELS, LANGUAGE_AND_NEXT], ids=kind)
def test_no_other_head_stands_upon_an_encoder_decoder(head):
    with pytest.raises(RecipeError, match=r"must be a language head\. .* such as compact\.$"):
        ModelConfig(trunk=PAIR, head=head)


def test_a_lone_trunk_that_attends_to_a_source_is_refused_since_nothing_gives_it_one():
    with pytest.raises(RecipeError, match="source"):
        ModelConfig(trunk=PAIR.decoder, head=LANGUAGE)


@pytest.mark.parametrize("config", [*HEADS, ModelConfig(trunk=ENCODER, head=LABELS)], ids=kind)
def test_configs_are_frozen_and_equal_by_value(config):
    for field in dataclasses.fields(config):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(config, field.name, getattr(config, field.name))
    assert config == dataclasses.replace(config)
    assert hash(config) == hash(dataclasses.replace(config))
