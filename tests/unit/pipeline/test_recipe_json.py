"""A recipe survives its file; a file that holds no recipe is answered with a sentence."""

import copy
import json
from dataclasses import MISSING, fields, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headstart.apps.recipes import RECIPES
from headstart.apps.recipes.bert import bert
from headstart.apps.recipes.compact import compact
from headstart.apps.recipes.lab import lab
from headstart.apps.recipes.strong import strong
from headstart.errors import RecipeError
from headstart.models.heads.config import LanguageHeadConfig, ModelConfig
from headstart.pipeline.recipe import Recipe, model_for, with_vocabulary
from headstart.pipeline.recipe_json import TYPES, from_json, recipe_from_json, to_json
from headstart.training.config import PlanConfig
from headstart.transfers.config import TransferConfig

CLASSIFIER = replace(
    lab(), name="classifier", model=model_for(lab(), "classification", num_labels=4)
)
PLAN = PlanConfig(
    num_steps=100,
    seed=0,
    device="cpu",
    num_threads=2,
    precision="fp32",
    is_compiled=False,
    is_deterministic=False,
    steps_between_validations=10,
    steps_between_logs=1,
)
EVERY = {name: new() for name, new in RECIPES.items()} | {
    "compact causal": compact("causal"),
    "strong causal": strong("causal"),
    "classifier": CLASSIFIER,
    "small": with_vocabulary(bert(), 10),
    "begun": replace(lab(), plan=PLAN),
    "transferred": replace(
        CLASSIFIER,
        transfer=TransferConfig(labels=("bad", "fair", "good", "best"), is_warm=True),
    ),
}
WHERE = "runs/one/recipe.json"

NUMBERS = st.integers() | st.floats()
NAMES = st.sampled_from(
    sorted({"type", *(field.name for kind in TYPES.values() for field in fields(kind))})
)
WORDS = st.sampled_from(["causal", "rotary", "pre", "mean", "", *TYPES]) | st.text(max_size=5)
GARBAGE = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | WORDS, inner, max_size=4),
    max_leaves=8,
)


def json_of(recipe: Recipe):
    """Returns a recipe as a file would give it back."""
    return json.loads(json.dumps(to_json(recipe)))


def objects_in(value) -> list[dict]:
    """Returns every object of a JSON value, the outermost first."""
    if not isinstance(value, dict):
        return []
    return [value, *(found for item in value.values() for found in objects_in(item))]


def mutate(data, value) -> None:
    """Changes one place of a recipe's JSON."""
    target = data.draw(st.sampled_from(objects_in(value)), label="object")
    name = data.draw(st.sampled_from(sorted(target)) if target else NAMES, label="name")
    change = data.draw(st.sampled_from(["delete", "replace", "add", "transplant", "retype"]))
    if change == "delete":
        target.pop(name, None)
    elif change == "replace":
        target[name] = data.draw(GARBAGE, label="garbage")
    elif change == "add":
        target[data.draw(NAMES | WORDS)] = data.draw(GARBAGE, label="garbage")
    elif change == "transplant":
        target[name] = copy.deepcopy(data.draw(st.sampled_from(objects_in(value))))
    else:
        target["type"] = data.draw(st.sampled_from(sorted(TYPES)) | GARBAGE)


@pytest.mark.parametrize("recipe", EVERY.values(), ids=EVERY)
def test_every_recipe_survives_the_round_trip(recipe):
    assert recipe_from_json(json_of(recipe), WHERE) == recipe


@pytest.mark.parametrize("recipe", EVERY.values(), ids=EVERY)
def test_every_object_in_the_file_bears_the_name_of_its_type(recipe):
    assert all(found["type"] in TYPES for found in objects_in(json_of(recipe)))


def test_every_type_of_the_table_is_written_by_some_recipe():
    seen = {found["type"] for recipe in EVERY.values() for found in objects_in(json_of(recipe))}
    assert seen == set(TYPES)


@settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_changed_file_gives_a_valid_recipe_or_a_recipe_error(data):
    value = json_of(EVERY[data.draw(st.sampled_from(sorted(EVERY)))])
    for _ in range(data.draw(st.integers(1, 4))):
        mutate(data, value)
    try:
        recipe = recipe_from_json(value, WHERE)
    except RecipeError:
        return
    assert recipe_from_json(json_of(recipe), WHERE) == recipe


@settings(deadline=None, max_examples=200)
@given(value=GARBAGE)
def test_any_json_at_all_gives_a_recipe_error(value):
    with pytest.raises(RecipeError, match=WHERE):
        recipe_from_json(value, WHERE)


@pytest.mark.parametrize("recipe", EVERY.values(), ids=EVERY)
def test_a_field_deleted_anywhere_is_named(recipe):
    for number, found in enumerate(objects_in(json_of(recipe))):
        required = {
            field.name
            for field in fields(TYPES[found["type"]])
            if field.default is MISSING and field.default_factory is MISSING
        }
        for name in required:
            value = json_of(recipe)
            del objects_in(value)[number][name]
            with pytest.raises(RecipeError, match=rf"wrong or missing: {name}\.$"):
                recipe_from_json(value, WHERE)


def test_a_field_that_an_older_file_lacks_has_its_default():
    value = json_of(lab())
    del value["model"]["trunk"]["num_segments"]
    assert recipe_from_json(value, WHERE) == lab()


@pytest.mark.parametrize("recipe", EVERY.values(), ids=EVERY)
def test_a_field_added_anywhere_is_named(recipe):
    for number in range(len(objects_in(json_of(recipe)))):
        value = json_of(recipe)
        objects_in(value)[number]["colour"] = "red"
        with pytest.raises(RecipeError, match=r"wrong or missing: colour\.$"):
            recipe_from_json(value, WHERE)


@pytest.mark.parametrize("wrong", [None, [], [1], {}, {"type": "LayerConfig"}], ids=repr)
@pytest.mark.parametrize("recipe", EVERY.values(), ids=EVERY)
def test_a_field_of_no_fitting_kind_is_refused_anywhere(recipe, wrong):
    for number, found in enumerate(objects_in(json_of(recipe))):
        # A recipe that nobody has begun has no plan, and one for plain text no transfer.
        may_be_none = {"plan", "transfer"} if wrong is None and number == 0 else set()
        for name in set(found) - {"type"} - may_be_none:
            value = json_of(recipe)
            objects_in(value)[number][name] = wrong
            with pytest.raises(RecipeError):
                recipe_from_json(value, WHERE)


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("length",), True),
        (("length",), 256.0),
        (("length",), "256"),
        (("name",), 3),
        (("objective",), None),
        (("pooling",), 1),
        (("model",), "lab"),
        (("model", "trunk", "scales_embedding"), 1),
        (("model", "trunk", "num_layers"), True),
        (("model", "trunk", "layer", "dropout"), False),
        (("model", "trunk", "layer", "dropout"), "0.1"),
        (("model", "head", "is_tied"), "yes"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named_with_its_place(path, wrong):
    value = json_of(lab())
    target = value
    for name in path[:-1]:
        target = target[name]
    target[path[-1]] = wrong
    where = ": ".join([WHERE, *path[:-1]])
    with pytest.raises(RecipeError) as caught:
        recipe_from_json(value, WHERE)
    assert str(caught.value) == (
        f"{where}: {path[-1]} is {wrong!r}, which is not of the kind it must be."
    )


@pytest.mark.parametrize(
    "wrong", ["Path", "recipe", "", None, 3, ["Recipe"], "__class__", "os.system"]
)
def test_only_types_of_the_table_come_out_of_a_file(wrong):
    with pytest.raises(RecipeError, match=f"^{WHERE} is damaged: its type is .*Restore it from a"):
        recipe_from_json(json_of(lab()) | {"type": wrong}, WHERE)


def test_a_file_without_a_recipe_is_damaged_and_says_what_to_do():
    with pytest.raises(RecipeError) as caught:
        recipe_from_json({}, WHERE)
    assert str(caught.value) == (
        f"{WHERE} is damaged: a type is missing, which every recipe has. Restore it from a copy, "
        "or begin another run."
    )


@pytest.mark.parametrize("config", [lab().model, lab().model.trunk, lab().model.head])
def test_a_config_that_is_no_recipe_is_refused(config):
    with pytest.raises(
        RecipeError, match=f"^{WHERE} holds no recipe: its type must be Recipe\\. Restore"
    ):
        recipe_from_json(to_json(config), WHERE)


def test_a_config_inside_a_recipe_can_be_read_alone():
    head = LanguageHeadConfig(is_tied=False, has_bias=True)
    model = from_json(to_json(ModelConfig(trunk=lab().model.trunk, head=head)), WHERE)
    assert model == ModelConfig(trunk=lab().model.trunk, head=head)


def test_a_literal_is_checked_wherever_it_stands():
    accepted = []
    for number, found in enumerate(objects_in(json_of(CLASSIFIER))):
        for name in set(found) & {
            "pooling",
            "direction",
            "positions",
            "feed_forward",
            "norm",
            "norm_place",
        }:
            value = json_of(CLASSIFIER)
            objects_in(value)[number][name] = "nonsense"
            try:
                recipe_from_json(value, WHERE)
            except RecipeError:
                continue
            accepted.append(f"{found['type']}.{name}")
    assert not accepted


def test_a_whole_number_is_a_fine_dropout():
    value = json_of(lab())
    value["model"]["trunk"]["layer"]["dropout"] = 0
    assert recipe_from_json(value, WHERE) == lab()


def test_recipes_within_recipes_without_end_are_refused_in_a_sentence():
    value: object = None
    for _ in range(2_000):
        value = {"type": "Recipe", "model": value}
    with pytest.raises(RecipeError):
        recipe_from_json(value, WHERE)
