"""Simulated tables have the truth that they claim."""

import numpy as np
import pytest

from headstart.evaluation.simulation import World, draw_results, several_results


def test_accuracy_and_seed_deviation_are_the_stated_ones():
    world = World(accuracies=(0.75, 0.9), num_seeds=400, num_items=4_000, seed_deviation=0.03)
    results = draw_results(world, np.random.default_rng(1))
    assert results.shape == (2, 400, 4_000)
    assert results.mean(axis=(1, 2)) == pytest.approx([0.75, 0.9], abs=0.015)
    # Counted answers vary by themselves too, though little over so many items.
    noise = results.mean(axis=2) * (1 - results.mean(axis=2)) / world.num_items
    deviation = np.sqrt(results.mean(axis=2).var(axis=1) - noise.mean(axis=1))
    assert deviation == pytest.approx([0.03, 0.03], abs=0.005)


@pytest.mark.parametrize("shares_seeds", [True, False])
def test_seeds_are_lucky_together_only_where_that_is_asked(shares_seeds):
    world = World(
        accuracies=(0.7, 0.7), num_seeds=300, seed_deviation=0.03, shares_seeds=shares_seeds
    )
    first, second = draw_results(world, np.random.default_rng(2)).mean(axis=2)
    assert (np.corrcoef(first, second)[0, 1] > 0.8) == shares_seeds


@pytest.mark.parametrize(("difficulty", "least", "most"), [(0.0, -0.05, 0.05), (2.0, 0.5, 0.8)])
def test_seeds_agree_on_texts_as_far_as_texts_differ(difficulty, least, most):
    world = World(accuracies=(0.7,), num_seeds=2, num_items=5_000, difficulty=difficulty)
    one, other = draw_results(world, np.random.default_rng(3))[0]
    assert least < np.corrcoef(one, other)[0, 1] < most


def test_draws_are_functions_of_their_numbers():
    world = World(accuracies=(0.7,), num_items=50)
    few, more = (list(several_results(world, count, seed=5)) for count in (2, 3))
    assert (few[1] == more[1]).all()
    assert (more[0] != more[1]).any()
