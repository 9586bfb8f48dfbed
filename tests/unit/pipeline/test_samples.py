"""A look at what a run has learned never ends it, whatever its positions and its text."""

from dataclasses import replace

import pytest

from headstart.models.initialisation import initialise
from headstart.models.model import new_model
from headstart.pipeline.run_folder import Run
from headstart.pipeline.samples import NUM_PIECES, sample_of
from headstart.tokenizers.pieces import MASK

every_objective = pytest.mark.parametrize("name", ["causal", "masked", "masked+next"])


def run_of(toy, name, max_length) -> Run:
    recipe = toy.recipe(name)
    trunk = replace(recipe.model.trunk, max_length=max_length)
    recipe = replace(recipe, model=replace(recipe.model, trunk=trunk), length=min(max_length, 48))
    model = new_model(recipe.model)
    initialise(model, 0)
    return Run(toy.folder, recipe, toy.tokenizer, model.eval())


@every_objective
@pytest.mark.parametrize("max_length", [5, 9, 24, 33, 512])
def test_there_is_a_sample_however_short_the_positions_are(toy, name, max_length):
    run = run_of(toy, name, max_length)
    text = sample_of(run, toy.store(toy.documents(5)), seed=0)
    assert isinstance(text, str)
    assert (MASK in text) == (name != "causal")


@every_objective
@pytest.mark.parametrize(
    "document",
    ["我喜歡讀書。今天天氣很好。" * 3, "a", "  a", f"{MASK} <eos>.", "x" * 500, "\t."],
)
def test_there_is_a_sample_whatever_the_text_begins_with(toy, name, document):
    run = run_of(toy, name, 24)
    assert isinstance(sample_of(run, toy.store([document]), seed=0), str)


@every_objective
def test_the_same_weights_and_seed_give_the_same_sample(toy, name):
    run, store = run_of(toy, name, 512), toy.store(toy.documents(5))
    assert sample_of(run, store, seed=0) == sample_of(run, store, seed=0)


def test_a_blank_is_shown_with_what_stood_there(toy):
    document = toy.documents(1)[0]
    run = run_of(toy, "masked", 512)
    text, _, found = sample_of(run, toy.store([document]), seed=0).rpartition(" (")
    hidden = found.partition("?")[0]
    assert document.startswith(text.replace(MASK, hidden)[:NUM_PIECES])
