"""Each recipe with each objective: it takes a step and learns, or says in a sentence why not."""

from dataclasses import replace

import pytest
import torch
from plain_plans import plain_plan

from headstart.apps.recipes import RECIPES
from headstart.apps.recipes.finding import find_recipe
from headstart.errors import RecipeError
from headstart.models.initialisation import initialise
from headstart.models.model import new_model
from headstart.objectives.batch import to_batch
from headstart.objectives.objective import StepRows
from headstart.objectives.table import OBJECTIVES
from headstart.pipeline.recipe import OBJECTIVE_NAMES, Recipe, with_objective, with_vocabulary
from headstart.pipeline.recipe_json import recipe_from_json, to_json
from headstart.training.averaging import AveragedWeights
from headstart.training.config import LearningConfig
from headstart.training.loop import Trainer, TrainingState
from headstart.training.optimiser import Optimiser

ONE_TRUNK = [name for name, new in RECIPES.items() if new().objective != "translation"]
PLAN = plain_plan(2)

every_recipe = pytest.mark.parametrize("name", ONE_TRUNK)
every_objective = pytest.mark.parametrize("objective", OBJECTIVES)


def shrunk(recipe: Recipe, vocabulary_size: int) -> Recipe:
    """The same kind of model, of which a step takes milliseconds."""
    trunk = recipe.model.trunk
    layer = replace(trunk.layer, width=32, num_heads=2, feed_forward_width=48)
    model = replace(recipe.model, trunk=replace(trunk, layer=layer, num_layers=2))
    made = replace(recipe, model=model, length=40, sequences_per_step=3)
    return with_vocabulary(made, vocabulary_size)


@every_recipe
@every_objective
def test_a_recipe_with_an_objective_takes_steps_that_move_every_weight(toy, name, objective):
    recipe = shrunk(find_recipe(name, objective), toy.tokenizer.size)
    assert recipe.objective == objective
    model = new_model(recipe.model)
    initialise(model, seed=0)
    before = {key: weights.detach().clone() for key, weights in model.named_parameters()}
    made = toy.objective(objective)
    step = StepRows(length=recipe.length, sequences=recipe.sequences_per_step, seed=0)
    stream = made.training_rows(toy.store(toy.documents(60)), step)
    learning = LearningConfig(weight_decay=0.0)
    state = TrainingState(model, Optimiser(model, set(), learning), AveragedWeights(model, 0.9))
    reports = []
    Trainer(
        made,
        learning,
        PLAN,
        lambda number: [to_batch(stream.at(number), "cpu")],
        lambda _state, report: bool(reports.append(report)),
    ).run(state)
    assert [report.step for report in reports] == [1, 2]
    assert ("next" in reports[0].parts) == (objective == "masked+next")
    still = [key for key, weights in model.named_parameters() if torch.equal(weights, before[key])]
    # Beyond the length of a sequence there are learned positions that no text has reached.
    assert not still


@every_recipe
@every_objective
def test_a_recipe_with_an_objective_has_the_direction_and_head_that_it_needs(name, objective):
    recipe = find_recipe(name, objective)
    assert (recipe.model.trunk.direction == "causal") == (objective == "causal")
    assert (recipe.model.trunk.num_segments == 2) == (objective == "masked+next")
    assert recipe.name == name
    assert recipe_from_json(to_json(recipe), "here") == recipe


@every_recipe
@every_objective
def test_an_objective_and_back_again_is_the_recipe_itself(name, objective):
    recipe = RECIPES[name]()
    assert with_objective(with_objective(recipe, objective), recipe.objective) == recipe


@every_objective
def test_an_encoder_decoder_learns_no_objective_of_plain_text(objective):
    with pytest.raises(RecipeError, match="base has the objective translation and cannot have "):
        find_recipe("base", objective)


@every_recipe
def test_one_trunk_does_not_translate(name):
    with pytest.raises(RecipeError, match="cannot have translation"):
        find_recipe(name, "translation")


@pytest.mark.parametrize("name", RECIPES)
def test_an_objective_that_does_not_exist_is_answered_with_those_that_do(name):
    with pytest.raises(RecipeError) as caught:
        find_recipe(name, "mask")
    assert "'mask'" in str(caught.value)
    assert all(objective in str(caught.value) for objective in OBJECTIVE_NAMES)
