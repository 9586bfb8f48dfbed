"""A translator begins with what fits of a run, and every tensor of both is accounted for."""

from dataclasses import replace

import pytest
import torch

from headstart.apps.recipes.bert import bert
from headstart.apps.recipes.compact import compact
from headstart.apps.recipes.small import small
from headstart.errors import RecipeError, RunError
from headstart.models.initialisation import initialise
from headstart.models.model import new_model
from headstart.pipeline.recipe import Recipe, model_for, with_vocabulary
from headstart.pipeline.translating.paired_recipe import paired
from headstart.transfers.trunk_start import start_from

RECIPES = {
    "masked": compact,
    "causal": lambda: compact("causal"),
    "masked+next": bert,
}
every_recipe = pytest.mark.parametrize("name", RECIPES)


def shrunk(recipe: Recipe, num_layers: int = 2, width: int = 16) -> Recipe:
    recipe = with_vocabulary(recipe, 60)
    trunk = recipe.model.trunk
    layer = replace(trunk.layer, width=width, num_heads=2, feed_forward_width=24)
    trunk = replace(trunk, layer=layer, num_layers=num_layers, max_length=64)
    return replace(
        recipe, model=replace(recipe.model, trunk=trunk), length=32, sequences_per_step=4
    )


def drawn(recipe: Recipe, seed: int):
    model = new_model(recipe.model)
    initialise(model, seed)
    with torch.no_grad():
        generator = torch.Generator().manual_seed(seed)
        for weights in model.parameters():
            weights += 0.1 * torch.randn(weights.shape, generator=generator)
    return model


def tensors_of(model) -> dict[str, torch.Tensor]:
    return {name: weights.detach().clone() for name, weights in model.named_parameters()}


def fates(start) -> dict[str, str]:
    return {row.name: row.fate for row in start.tensors}


@every_recipe
def test_all_but_the_attention_to_the_source_is_loaded_from_a_trunk_of_the_same_shape(name):
    recipe = shrunk(RECIPES[name]())
    theirs = tensors_of(drawn(recipe, 1))
    model = drawn(paired(recipe, small()), 2)
    before = tensors_of(model)
    start, loaded = start_from(model, theirs, is_same_vocabulary=True)
    seen = fates(start)
    after = tensors_of(model)
    for key, weights in after.items():
        if "cross_attention" in key:
            assert seen[key] == "left random"
            assert torch.equal(weights, before[key])
        else:
            assert seen[key] == "loaded"
            (half,) = {"encoder", "decoder", "head"} & set(key.split("."))
            own = key.replace(f".{half}.", ".") if half != "head" else key
            source = theirs.get(own, theirs.get(key.replace("head.", "head.language.")))
            assert torch.equal(weights, source)
    assert set(loaded) == {key for key in after if seen[key] == "loaded"}
    # What has no place is listed too: segments, and the head over pairs of sentences.
    unused = {key for key, fate in seen.items() if fate == "not used"}
    assert unused == {key for key in theirs if "segments" in key or "next_sentence" in key}


def test_a_deeper_trunk_has_layers_to_spare_and_a_shallower_one_leaves_some_random():
    deep, shallow = shrunk(compact(), num_layers=3), shrunk(compact(), num_layers=1)
    middle = paired(shrunk(compact(), num_layers=2), small())
    start, _ = start_from(drawn(middle, 2), tensors_of(drawn(deep, 1)), is_same_vocabulary=True)
    unused = {key for key, fate in fates(start).items() if fate == "not used"}
    assert unused
    assert all(key.startswith("trunk.layers.2.") for key in unused)
    start, _ = start_from(drawn(middle, 2), tensors_of(drawn(shallow, 1)), is_same_vocabulary=True)
    for key, fate in fates(start).items():
        if ".layers.1." in key or "cross_attention" in key:
            assert fate == "left random", key


def test_another_width_fits_nowhere_and_every_tensor_says_so():
    theirs = tensors_of(drawn(shrunk(compact(), width=32), 1))
    model = drawn(paired(shrunk(compact()), small()), 2)
    before = tensors_of(model)
    start, loaded = start_from(model, theirs, is_same_vocabulary=True)
    assert loaded == {}
    assert "loaded" not in fates(start).values()
    assert all(torch.equal(weights, before[name]) for name, weights in model.named_parameters())
    wide = next(row for row in start.tensors if row.fate == "did not fit")
    assert wide.shape != wide.source_shape


def test_another_vocabulary_leaves_its_table_and_loads_the_rest():
    recipe = shrunk(compact())
    model = drawn(paired(recipe, small()), 2)
    start, loaded = start_from(model, tensors_of(drawn(recipe, 1)), is_same_vocabulary=False)
    table = "trunk.encoder.embedding.tokens.weight"
    assert fates(start)[table] == "other vocabulary"
    assert table not in loaded
    assert "trunk.encoder.layers.0.attention.output.weight" in loaded


def test_a_translator_begins_with_another_name_by_name():
    recipe = paired(shrunk(compact()), small())
    theirs = tensors_of(drawn(recipe, 1))
    model = drawn(recipe, 2)
    start, _ = start_from(model, theirs, is_same_vocabulary=True)
    assert set(fates(start).values()) == {"loaded"}
    assert all(torch.equal(weights, theirs[name]) for name, weights in model.named_parameters())
    assert paired(recipe, small()) == recipe


def test_the_norms_are_those_before_and_after():
    recipe = shrunk(compact())
    theirs = tensors_of(drawn(recipe, 1))
    model = drawn(paired(recipe, small()), 2)
    before = tensors_of(model)
    start, loaded = start_from(model, theirs, is_same_vocabulary=True)
    for row in start.tensors:
        if row.fate != "not used":
            assert row.norm_before == pytest.approx(before[row.name].norm().item())
            expected = loaded.get(row.name, before[row.name])
            assert row.norm_after == pytest.approx(expected.norm().item())


def test_a_value_that_is_no_number_is_refused():
    recipe = shrunk(compact())
    theirs = tensors_of(drawn(recipe, 1))
    theirs["trunk.norm.weight"][3] = torch.nan
    with pytest.raises(RunError, match=r"trunk.norm.weight of the run holds a value that is no"):
        start_from(drawn(paired(recipe, small()), 2), theirs, is_same_vocabulary=True)


def test_a_classifier_has_no_trunk_that_writes():
    recipe = compact()
    judge = replace(recipe, model=model_for(recipe, "classification", 2))
    with pytest.raises(RecipeError, match="has no trunk that reads and writes pieces"):
        paired(judge, small())
