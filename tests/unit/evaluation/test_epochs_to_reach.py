"""Epochs to the cold start's best, by curves drawn by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.errors import DataError
from headstart.evaluation.epochs_to_reach import epochs_to_reach, first_at_least

ACCURACIES = st.lists(st.floats(0, 1), min_size=1, max_size=6)


def curve(*accuracies):
    return list(enumerate(accuracies, start=1))


def test_each_seed_is_held_against_its_own_cold_start():
    cold = [curve(0.5, 0.6, 0.55), curve(0.5, 0.5, 0.7)]
    warm = [curve(0.61, 0.7, 0.7), curve(0.6, 0.65, 0.7)]
    seen = epochs_to_reach(warm, cold)
    assert seen.cold_best == pytest.approx(0.65)
    assert seen.cold_epoch == 2.5
    assert (seen.epochs, seen.num_seeds_reaching, seen.num_seeds) == (2.0, 2, 2)


def test_parts_of_an_epoch_are_kept():
    seen = epochs_to_reach([[(0.5, 0.6), (1.0, 0.7)]], [[(0.25, 0.4), (0.75, 0.7)]])
    assert (seen.cold_epoch, seen.epochs) == (0.75, 1.0)


@pytest.mark.parametrize(("num_reaching", "epochs"), [(3, 1.0), (2, 1.0), (1, None), (0, None)])
def test_seeds_that_never_reach_it_are_counted_and_few_that_do_not_averaged(num_reaching, epochs):
    warm = [curve(0.6)] * num_reaching + [curve(0.4)] * (3 - num_reaching)
    seen = epochs_to_reach(warm, [curve(0.5, 0.6)] * 3)
    assert (seen.epochs, seen.num_seeds_reaching, seen.num_seeds) == (epochs, num_reaching, 3)


@given(st.lists(ACCURACIES, min_size=1, max_size=4))
def test_a_cold_start_reaches_its_own_best_when_it_has_it(drawn):
    curves = [curve(*accuracies) for accuracies in drawn]
    seen = epochs_to_reach(curves, curves)
    assert seen.epochs == pytest.approx(seen.cold_epoch)
    assert seen.num_seeds_reaching == len(curves)


@given(ACCURACIES, st.floats(0, 1))
def test_the_first_epoch_is_the_one_before_which_none_is_so_good(accuracies, wanted):
    epoch = first_at_least(curve(*accuracies), wanted)
    if epoch is None:
        assert max(accuracies) < wanted
    else:
        assert accuracies[epoch - 1] >= wanted
        assert all(accuracy < wanted for accuracy in accuracies[: epoch - 1])


@pytest.mark.parametrize(
    ("curves", "cold"),
    [([], []), ([curve(0.5)], []), ([curve(0.5)], [curve(0.5)] * 2), ([[]], [curve(0.5)])],
)
def test_curves_that_do_not_fit_together_are_refused(curves, cold):
    with pytest.raises(DataError, match=f"{len(curves)} curves for {len(cold)} cold"):
        epochs_to_reach(curves, cold)
