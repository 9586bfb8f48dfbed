"""How many sequences a memory holds at once, and what makes up the peak."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.apps.recipes import RECIPES
from headstart.apps.recipes.lab import lab
from headstart.models.accounting.memory import Memory, model_memory, most_sequences
from headstart.models.accounting.step import StepShape
from headstart.models.heads.config import LabelHeadConfig
from headstart.pipeline.recipe import model_for

STEP = StepShape(length=64, sequences=4)
GIB = 1 << 30

every_recipe = pytest.mark.parametrize("name", RECIPES)


def of(name: str, step: StepShape = STEP) -> Memory:
    return model_memory(RECIPES[name]().model, step)


@every_recipe
def test_all_weights_have_gradients_and_two_moments_where_everything_learns(name):
    memory = of(name)
    assert memory.gradients == memory.weights
    assert memory.optimiser == 2 * memory.weights


@every_recipe
@settings(deadline=None)
@given(sequences=st.integers(1, 1_000), factor=st.integers(2, 9))
def test_activations_and_logits_grow_with_the_sequences_and_nothing_else_does(
    name, sequences, factor
):
    few, many = (of(name, replace(STEP, sequences=n)) for n in (sequences, factor * sequences))
    assert many.activations == factor * few.activations
    assert many.logits == pytest.approx(factor * few.logits, rel=1e-6)
    assert (many.weights, many.gradients, many.optimiser) == (
        few.weights,
        few.gradients,
        few.optimiser,
    )


@every_recipe
@settings(deadline=None)
@given(length=st.integers(1, 256))
def test_a_fused_kernel_keeps_as_much_for_one_long_sequence_as_for_many_short_ones(name, length):
    long = of(name, StepShape(length=2 * length, sequences=1))
    short = of(name, StepShape(length=length, sequences=2))
    assert long.activations == short.activations


@every_recipe
def test_the_peak_is_at_least_all_that_stays_and_at_most_everything(name):
    memory = of(name)
    stays = memory.weights + memory.optimiser
    assert stays + memory.gradients <= memory.peak
    assert memory.peak <= stays + memory.gradients + memory.activations + memory.logits


@pytest.mark.parametrize("num_labels", [2, 1_000])
def test_a_classifier_scores_each_text_once(num_labels):
    recipe = lab()
    config = model_for(recipe, "classification", num_labels)
    assert isinstance(config.head, LabelHeadConfig)
    assert model_memory(config, STEP).logits == 3 * 4 * num_labels * STEP.sequences


def test_in_an_unknown_memory_nothing_is_said_to_fit():
    assert most_sequences(lab().model, STEP, None) is None


@every_recipe
def test_where_not_even_the_weights_fit_no_sequence_does(name):
    memory = of(name)
    stays = memory.weights + memory.gradients + memory.optimiser
    assert most_sequences(RECIPES[name]().model, STEP, stays - 1) == 0
    assert most_sequences(RECIPES[name]().model, STEP, 0) == 0


@every_recipe
@settings(deadline=None)
@given(memory_bytes=st.integers(0, 64 * GIB))
def test_as_many_sequences_as_are_said_to_fit_do_and_their_peak_too(name, memory_bytes):
    config = RECIPES[name]().model
    most = most_sequences(config, STEP, memory_bytes)
    if most:
        assert model_memory(config, replace(STEP, sequences=most)).peak <= memory_bytes + 64


@every_recipe
@settings(deadline=None)
@given(small=st.integers(0, 64 * GIB), more=st.integers(0, 64 * GIB))
def test_more_memory_never_holds_less(name, small, more):
    config = RECIPES[name]().model
    assert most_sequences(config, STEP, small) <= most_sequences(config, STEP, small + more)


@pytest.mark.parametrize("name", ["lab", "compact", "bert"])
def test_on_a_frozen_trunk_the_vectors_of_one_layer_must_still_fit(name):
    config = model_for(RECIPES[name](), "classification")
    most = most_sequences(config, replace(STEP, is_frozen=True), 16 * GIB)
    vector_bytes = 4 * config.trunk.width * STEP.length
    assert most * vector_bytes <= 16 * GIB
