"""Each recipe that has one trunk becomes a classifier, warm in every mode and cold."""

from dataclasses import replace

import pytest
from tiny_runs import TRANSFERS
from tiny_transfers import (
    planted,
    settings,
    tokenizer,
    transferring,
    write_examples,
    write_trunk,
)

from headstart.apps.recipes import RECIPES
from headstart.apps.recipes.compact import compact
from headstart.errors import RecipeError
from headstart.pipeline import training_run
from headstart.pipeline.classifier import load_classifier, probabilities
from headstart.pipeline.recipe import with_vocabulary
from headstart.pipeline.run_files import read_results
from headstart.pipeline.transfer import read_swap, transfer

ALL_RECIPES = dict(RECIPES) | {"compact causal": lambda: compact("causal")}
WITH_A_TRUNK = [name for name, make in ALL_RECIPES.items() if make().objective != "translation"]


def shrunk(name: str):
    """Returns a recipe of the same parts, of which a step takes milliseconds."""
    recipe = with_vocabulary(ALL_RECIPES[name](), tokenizer().size)
    trunk = recipe.model.trunk
    layer = replace(trunk.layer, width=32, num_heads=2, feed_forward_width=32)
    trunk = replace(trunk, layer=layer, num_layers=2)
    return replace(recipe, model=replace(recipe.model, trunk=trunk), length=32)


@pytest.mark.parametrize("mode", [*TRANSFERS, "cold"])
@pytest.mark.parametrize("name", WITH_A_TRUNK)
def test_a_classifier_comes_of_it_that_answers(name, mode, tmp_path, monkeypatch):
    monkeypatch.setattr(training_run, "write_curves", lambda _folder: None)
    recipe, is_cold = shrunk(name), mode == "cold"
    start = None if is_cold else write_trunk(tmp_path / "trunk", recipe)
    files = write_examples(tmp_path / "examples", num_train=36)
    wanted = transferring(start, files, settings("full" if is_cold else mode, epochs=2))
    transfer(replace(wanted, recipe=recipe), tmp_path / "run")
    swap = read_swap(tmp_path / "run")
    assert (swap is None) == is_cold
    if swap is not None:
        new = [row["name"] for row in swap["tensors"] if row["fate"] == "new"]
        assert new == ["head.output.weight", "head.output.bias"]
    assert read_results(tmp_path / "run")["test"]["full"]["num_items"] == 18
    classifier = load_classifier(tmp_path / "run", "cpu")
    answers = list(probabilities(classifier, [text for text, _ in planted(5)] + [""]))
    assert len(answers) == 6
    for answer in answers:
        assert answer.sum() == pytest.approx(1.0, abs=1e-5)


def test_a_recipe_without_a_trunk_of_its_own_is_refused(tmp_path):
    files = write_examples(tmp_path)
    with_two = next(make() for make in RECIPES.values() if make().objective == "translation")
    wanted = replace(transferring(None, files), recipe=with_two)
    with pytest.raises(RecipeError, match="has no single trunk to put labels on"):
        transfer(wanted, tmp_path / "run")
