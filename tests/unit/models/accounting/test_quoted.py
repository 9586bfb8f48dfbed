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
    return quoted("base", with_vocabulary(base(), vocabulary_size).model)


def test_the_exact_count_stands_beside_the_quoted_one():
    assert (seen().exact, seen().count) == (63_082_496, 65_000_000)


def test_the_exact_count_is_what_the_modules_have():
    assert seen().exact == built(base().model)


def test_the_source_of_the_quoted_count_is_named():
    assert "table 3" in seen().source


@pytest.mark.parametrize("vocabulary_size", [1, 1_000, VOCABULARY_SIZE, 40_745, 100_000])
def test_the_vocabulary_that_matches_has_the_quoted_count_to_half_a_row(vocabulary_size):
    matching = seen(vocabulary_size).vocabulary_that_matches
    assert abs(built(with_vocabulary(base(), matching).model) - 65_000_000) <= WIDTH // 2


def test_the_vocabulary_that_matches_does_not_depend_on_the_one_asked_about():
    assert seen(1_000).vocabulary_that_matches == seen(100_000).vocabulary_that_matches


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
    assert quoted(name, RECIPES[name]().model) is None


def test_nothing_is_quoted_for_another_model_of_the_name():
    assert quoted("base", RECIPES["lab"]().model) is None
