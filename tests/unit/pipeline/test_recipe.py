"""A recipe is valid from birth, and its trunk takes other vocabularies and other heads."""

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.apps.recipes import RECIPES
from headstart.apps.recipes.compact import compact
from headstart.apps.recipes.lab import lab
from headstart.apps.recipes.strong import strong
from headstart.errors import RecipeError
from headstart.models.config import EncoderDecoderConfig
from headstart.models.heads.config import LabelHeadConfig
from headstart.pipeline.recipe import model_for, with_vocabulary

EVERY = {name: new() for name, new in RECIPES.items()} | {
    "compact causal": compact("causal"),
    "strong causal": strong("causal"),
}
ONE_TRUNK = {name: recipe for name, recipe in EVERY.items() if recipe.objective != "translation"}


def every(recipes=EVERY):
    return pytest.mark.parametrize("recipe", recipes.values(), ids=recipes)


def resized_by_hand(recipe, vocabulary_size):
    """Returns a recipe's model with both vocabularies set, by hand."""
    trunk = recipe.model.trunk
    if isinstance(trunk, EncoderDecoderConfig):
        sides = {
            side: dataclasses.replace(getattr(trunk, side), vocabulary_size=vocabulary_size)
            for side in ("encoder", "decoder")
        }
        return dataclasses.replace(recipe.model, trunk=dataclasses.replace(trunk, **sides))
    resized = dataclasses.replace(trunk, vocabulary_size=vocabulary_size)
    return dataclasses.replace(recipe.model, trunk=resized)


def test_every_recipe_of_the_table_bears_its_name_and_is_made_afresh_alike():
    for name, new in RECIPES.items():
        assert new().name == name
        assert new() == new()


@every()
def test_every_recipe_answers_a_known_share_of_positions(recipe):
    assert 0 < recipe.answered_share <= 1


@every()
def test_every_recipe_predicts_in_the_direction_of_its_trunk(recipe):
    direction = getattr(recipe.model.trunk, "direction", "pair")
    assert direction == {
        "causal": "causal",
        "masked": "bidirectional",
        "masked+next": "bidirectional",
        "translation": "pair",
    }.get(recipe.objective)


@pytest.mark.parametrize("new", [compact, strong])
def test_a_modern_recipe_refuses_an_objective_that_has_no_direction(new):
    with pytest.raises(RecipeError, match=r"'masked\+next'.* Choose one of: masked, causal\.$"):
        new("masked+next")


@every()
def test_a_step_reads_its_sequences_whole(recipe):
    assert recipe.tokens_per_step == recipe.length * recipe.sequences_per_step


def test_a_step_of_base_reads_25_000_pieces_a_side_as_the_paper_does():
    assert EVERY["base"].tokens_per_step == 25_000


@every()
def test_the_task_follows_from_the_trunk(recipe):
    assert recipe.task == (
        "translation" if recipe.name in {"base", "small", "pocket"} else "language-model"
    )


def test_an_unknown_objective_is_answered_with_the_known_ones():
    sentence = (
        "There is no objective 'maskd'. Did you mean 'masked'? "
        "Choose one of: causal, masked, masked+next, translation."
    )
    with pytest.raises(RecipeError, match=f"^{re.escape(sentence)}$"):
        dataclasses.replace(lab(), objective="maskd")


@pytest.mark.parametrize("name", ["length", "sequences_per_step"])
@pytest.mark.parametrize("value", [0, -5, 1.5, "16", None])
def test_a_size_must_be_a_whole_number_of_at_least_one(name, value):
    sentence = f"{name} is {value!r}; it must be a whole number of at least 1."
    with pytest.raises(RecipeError, match=f"^{re.escape(sentence)}$"):
        dataclasses.replace(lab(), **{name: value})


@every()
def test_a_length_beyond_the_positions_is_refused_and_the_last_one_accepted(recipe):
    trunk = recipe.model.trunk
    longest = getattr(trunk, "encoder", trunk).max_length
    assert dataclasses.replace(recipe, length=longest).length == longest
    with pytest.raises(RecipeError, match=f"from 1 to {longest:,}"):
        dataclasses.replace(recipe, length=longest + 1)


@given(length=st.integers(), sequences_per_step=st.integers())
def test_any_whole_numbers_give_a_valid_recipe_or_a_recipe_error(length, sequences_per_step):
    try:
        recipe = dataclasses.replace(lab(), length=length, sequences_per_step=sequences_per_step)
    except RecipeError:
        return
    assert 1 <= recipe.length <= 5_000
    assert recipe.tokens_per_step >= recipe.length


def test_an_unknown_pooling_is_refused_when_the_recipe_is_made():
    with pytest.raises(RecipeError, match="pooling is 'nonsense'"):
        dataclasses.replace(lab(), pooling="nonsense")


@pytest.mark.parametrize(
    ("name", "objective"),
    [
        ("lab", "translation"),
        ("compact", "causal"),
        ("compact", "masked+next"),
        ("bert", "causal"),
        ("base", "masked"),
    ],
)
def test_an_objective_that_the_model_cannot_pursue_is_refused(name, objective):
    with pytest.raises(RecipeError):
        dataclasses.replace(EVERY[name], objective=objective)


def test_a_causal_trunk_may_fill_blanks():
    assert dataclasses.replace(lab(), objective="masked").objective == "masked"


def test_recipes_are_frozen():
    for field in dataclasses.fields(lab()):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(lab(), field.name, getattr(lab(), field.name))


@every()
def test_another_vocabulary_changes_the_vocabulary_and_nothing_else(recipe):
    resized = with_vocabulary(recipe, 777)
    assert resized.model.trunk.vocabulary_size == 777
    assert resized == dataclasses.replace(recipe, model=resized_by_hand(recipe, 777))


@every()
def test_another_vocabulary_and_back_is_the_same_recipe(recipe):
    vocabulary_size = recipe.model.trunk.vocabulary_size
    assert with_vocabulary(with_vocabulary(recipe, 5), vocabulary_size) == recipe


@every()
@pytest.mark.parametrize("vocabulary_size", [0, -1, 2.5])
def test_a_vocabulary_of_nothing_is_refused(recipe, vocabulary_size):
    with pytest.raises(RecipeError, match=f"^vocabulary_size is {vocabulary_size};"):
        with_vocabulary(recipe, vocabulary_size)


@every()
def test_the_task_it_was_pretrained_for_keeps_its_model(recipe):
    assert model_for(recipe, recipe.task, num_labels=2) is recipe.model


@every(ONE_TRUNK)
def test_classification_keeps_the_trunk_and_takes_a_label_head(recipe):
    model = model_for(recipe, "classification", num_labels=7)
    assert model.trunk is recipe.model.trunk
    assert model.head == LabelHeadConfig(num_labels=7, pooling=recipe.pooling)


@every(ONE_TRUNK)
def test_classification_into_one_label_is_refused(recipe):
    with pytest.raises(RecipeError, match="num_labels is 1"):
        model_for(recipe, "classification", num_labels=1)


@every(ONE_TRUNK)
def test_one_trunk_cannot_translate_and_the_answer_names_a_recipe_that_can(recipe):
    facts = (
        rf"^The recipe {recipe.name} has one trunk.* translation\..* task language-model.* base\.$"
    )
    with pytest.raises(RecipeError, match=facts):
        model_for(recipe, "translation", num_labels=2)


@pytest.mark.parametrize("task", ["classification", "language-model"])
def test_an_encoder_decoder_only_translates_and_the_answer_names_a_recipe_for_more(task):
    facts = rf"^The recipe base has an encoder-decoder.* {task}\..* task translation.* compact\.$"
    with pytest.raises(RecipeError, match=facts):
        model_for(EVERY["base"], task, num_labels=2)


def test_an_unknown_task_is_refused():
    with pytest.raises(RecipeError, match="clasification"):
        model_for(lab(), "clasification", num_labels=2)
