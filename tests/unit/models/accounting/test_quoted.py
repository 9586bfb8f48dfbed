"""The size usually quoted for base beside the exact one, and where the difference lies."""

from dataclasses import replace

import pytest

from headstart.apps.recipes import RECIPES
from headstart.apps.recipes.base import base
from headstart.models.accounting.census import count_built
from headstart.models.accounting.quoted import quoted
from headstart.models.heads.config import LanguageHeadConfig, ModelConfig
from headstart.pipeline.recipe import with_vocabulary

WIDTH, VOCABULARY_SIZE, NUM_LAYERS = 512, 37_000, 6


def built(config: ModelConfig) -> int:
    return sum(count_built(config).values())


def seen(vocabulary_size: int = VOCABULARY_SIZE):
    return quoted(with_vocabulary(base(), vocabulary_size).model)


def test_the_exact_count_stands_beside_the_quoted_one():
    assert (seen().exact, seen().count) == (63_082_496, 65_000_000)


def test_the_exact_count_is_what_the_modules_have():
    assert seen().exact == built(base().model)


def test_the_source_of_the_quoted_count_is_named():
    assert "table 3" in seen().source


@pytest.mark.parametrize("end", ["smallest_vocabulary", "largest_vocabulary"])
def test_vocabularies_that_match_round_to_the_quoted_count_and_no_others_do(end):
    inside = getattr(seen(), end)
    outside = inside + (-1 if end.startswith("smallest") else 1)
    counts = [built(with_vocabulary(base(), size).model) for size in (inside, outside)]
    assert [abs(count - 65_000_000) <= 500_000 for count in counts] == [True, False]


@pytest.mark.parametrize("vocabulary_size", [1_000, 37_001, 40_745])
def test_nothing_is_quoted_for_another_vocabulary(vocabulary_size):
    assert seen(vocabulary_size) is None


def test_attention_without_biases_lacks_four_vectors_an_attention():
    num_attentions = NUM_LAYERS + 2 * NUM_LAYERS
    assert seen().readings["no biases in attention"] == -4 * WIDTH * num_attentions


def test_a_norm_after_each_stack_adds_two_gains_and_two_shifts():
    assert seen().readings["a norm after each stack"] == 2 * 2 * WIDTH


def test_a_bias_in_the_head_adds_what_the_built_model_has_more():
    biased = replace(base().model, head=LanguageHeadConfig(is_tied=True, has_bias=True))
    assert seen().readings["a bias in the head"] == built(biased) - built(base().model)
    assert seen().readings["a bias in the head"] == VOCABULARY_SIZE


def test_an_embedding_for_each_side_adds_what_the_built_model_has_more():
    apart = replace(base().model, trunk=replace(base().model.trunk, shares_embedding=False))
    change = seen().readings["an embedding for each side"]
    assert change == built(apart) - built(base().model) == VOCABULARY_SIZE * WIDTH


def test_a_head_of_its_own_adds_what_the_built_model_has_more():
    trunk = replace(base().model.trunk, shares_embedding=False)
    untied = ModelConfig(trunk=trunk, head=LanguageHeadConfig(is_tied=False, has_bias=False))
    change = seen().readings["an embedding for each side and a head of its own"]
    assert change == built(untied) - built(base().model) == 2 * VOCABULARY_SIZE * WIDTH


def test_no_reading_alone_gives_the_quoted_count():
    rounded = {round((seen().exact + change) / 1e6) for change in seen().readings.values()}
    assert 65 not in rounded


@pytest.mark.parametrize("name", [name for name in RECIPES if name != "base"])
def test_nothing_is_quoted_for_another_recipe(name):
    assert quoted(RECIPES[name]().model) is None


def test_nothing_is_quoted_for_another_depth():
    trunk = base().model.trunk
    shallow = replace(trunk, encoder=replace(trunk.encoder, num_layers=2))
    assert quoted(replace(base().model, trunk=shallow)) is None
