"""Epochs to the cold start's best, by curves drawn by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.errors import DataError
from headstart.evaluation.epochs_to_reach import epochs_to_reach, first_at_least

CURVES = st.lists(st.floats(0, 1), min_size=1, max_size=6)


def test_each_seed_is_held_against_its_own_cold_start():
    cold = [[0.5, 0.6, 0.55], [0.5, 0.5, 0.7]]
    warm = [[0.61, 0.7, 0.7], [0.6, 0.65, 0.7]]
    seen = epochs_to_reach(warm, cold)
    assert seen.cold_best == pytest.approx(0.65)
    assert seen.cold_epoch == 2.5
    assert (seen.epochs, seen.num_seeds_reaching, seen.num_seeds) == (2.0, 2, 2)


def test_seeds_that_never_reach_it_are_counted_and_not_averaged():
    cold = [[0.5, 0.6], [0.5, 0.7]]
    seen = epochs_to_reach([[0.6], [0.65]], cold)
    assert (seen.epochs, seen.num_seeds_reaching) == (1.0, 1)
    seen = epochs_to_reach([[0.4], [0.4]], cold)
    assert (seen.epochs, seen.num_seeds_reaching, seen.num_seeds) == (None, 0, 2)


@given(st.lists(CURVES, min_size=1, max_size=4))
def test_a_cold_start_reaches_its_own_best_when_it_has_it(curves):
    seen = epochs_to_reach(curves, curves)
    assert seen.epochs == pytest.approx(seen.cold_epoch)
    assert seen.num_seeds_reaching == len(curves)


@given(CURVES, st.floats(0, 1))
def test_the_first_epoch_is_the_one_before_which_none_is_so_good(curve, accuracy):
    epoch = first_at_least(curve, accuracy)
    if epoch is None:
        assert max(curve) < accuracy
    else:
        assert curve[epoch - 1] >= accuracy
        assert all(value < accuracy for value in curve[: epoch - 1])


@pytest.mark.parametrize(
    ("curves", "cold"), [([], []), ([[0.5]], []), ([[0.5]], [[0.5], [0.6]]), ([[]], [[0.5]])]
)
def test_curves_that_do_not_fit_together_are_refused(curves, cold):
    with pytest.raises(DataError, match=f"{len(curves)} curves for {len(cold)} cold"):
        epochs_to_reach(curves, cold)
