"""What a system is worth in labels: exact on plain curves, and covered on simulated ones."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.errors import DataError
from headstart.evaluation.crossed import crossed_mean
from headstart.evaluation.label_worth import along_curve, label_worth, rising, size_reaching
from headstart.evaluation.simulation import World, draw_results

SIZES = (100, 400, 1_600)


def share_right(share, shape=(3, 400), seed=0):
    """A table of which just this share is right, the easiest texts first for every system."""
    ease = np.random.default_rng(seed).random(shape[1])
    return np.tile(ease <= np.quantile(ease, share), (shape[0], 1))


def curve_of(*shares):
    return {size: share_right(share) for size, share in zip(SIZES, shares, strict=True)}


def test_a_system_as_good_as_the_curve_half_way_is_worth_the_size_half_way():
    seen = label_worth(share_right(0.65), 100, curve_of(0.5, 0.6, 0.7))
    # Half way from 400 to 1,600 on a logarithmic scale is 800.
    assert seen.factor == pytest.approx(8, rel=0.02)
    assert seen.low < seen.factor < seen.high
    assert not seen.is_at_least
    assert not seen.is_at_most
    assert seen.at_size == 100


@pytest.mark.parametrize(("size", "factor"), [(100, 1.0), (400, 4.0), (1_600, 16.0)])
def test_the_curve_itself_is_worth_its_own_labels(size, factor):
    curve = curve_of(0.5, 0.6, 0.7)
    assert label_worth(curve[size], 100, curve).factor == pytest.approx(factor)
    assert label_worth(curve[size], size, curve).factor == pytest.approx(1)


def test_beyond_the_last_size_there_is_a_bound_and_no_upper_end():
    seen = label_worth(share_right(0.9), 100, curve_of(0.5, 0.6, 0.7))
    assert (seen.factor, seen.low, seen.high) == (16, 16, None)
    assert (seen.is_at_least, seen.is_at_most) == (True, False)
    doubtful = label_worth(share_right(0.705), 100, curve_of(0.5, 0.6, 0.7))
    assert (doubtful.factor, doubtful.high, doubtful.is_at_least) == (16, None, True)
    assert 4 < doubtful.low < 16


def test_below_the_first_size_there_is_a_bound_and_no_lower_end():
    seen = label_worth(share_right(0.3), 400, curve_of(0.5, 0.6, 0.7))
    assert (seen.factor, seen.low, seen.high) == (0.25, None, 0.25)
    assert (seen.is_at_least, seen.is_at_most) == (False, True)
    doubtful = label_worth(share_right(0.495), 400, curve_of(0.5, 0.6, 0.7))
    assert (doubtful.factor, doubtful.low, doubtful.is_at_most) == (0.25, None, True)
    assert 0.25 < doubtful.high < 1


def test_a_system_that_pretraining_harmed_is_worth_less_than_its_labels():
    seen = label_worth(share_right(0.55), 1_600, curve_of(0.5, 0.6, 0.7))
    assert seen.factor == pytest.approx(200 / 1_600, rel=0.02)
    assert seen.high < 1


@pytest.mark.parametrize(("share", "is_at_least"), [(0.8, True), (0.4, False)])
def test_a_curve_of_one_size_gives_a_bound(share, is_at_least):
    seen = label_worth(share_right(share), 400, {400: share_right(0.6)})
    assert (seen.factor, seen.is_at_least, seen.is_at_most) == (1, is_at_least, not is_at_least)
    assert (seen.low, seen.high) == ((1, None) if is_at_least else (None, 1))


def test_a_dent_in_the_curve_is_levelled():
    tables = [share_right(share) * 1.0 for share in (0.5, 0.7, 0.6)]
    levelled = rising(tables)
    assert levelled.mean(axis=(1, 2)) == pytest.approx([0.5, 0.65, 0.65])
    assert levelled[1] == pytest.approx((tables[1] + tables[2]) / 2)
    assert (levelled[0] == tables[0]).all()
    seen = label_worth(share_right(0.65), 100, curve_of(0.5, 0.7, 0.6))
    assert seen.factor == pytest.approx(4, rel=0.02)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_levelled_curves_never_fall_and_keep_their_mean(shares):
    tables = [np.full((1, 2), share) for share in shares]
    means = rising(tables).mean(axis=(1, 2))
    assert (np.diff(means) >= -1e-12).all()
    assert means.mean() == pytest.approx(np.mean(shares))


@given(st.floats(0, 1), st.lists(st.floats(0.01, 0.2), min_size=1, max_size=5), st.floats(0, 0.3))
def test_the_size_reached_is_that_of_a_fine_search(accuracy, rises, start):
    means = (start + np.cumsum([0, *rises])).tolist()
    sizes = [50 * 3**place for place in range(len(means))]
    seen = size_reaching(accuracy, sizes, means)
    fine = np.exp(np.linspace(math.log(sizes[0]), math.log(sizes[-1]), 20_001))
    values = np.interp(np.log(fine), np.log(sizes), means)
    expected = fine[np.argmax(values >= accuracy)] if accuracy <= means[-1] else sizes[-1]
    assert seen == pytest.approx(expected, rel=2e-3)


def test_points_along_a_curve_are_straight_over_the_logarithm():
    tables = rising([share_right(share) * 1.0 for share in (0.5, 0.6, 0.7)])
    points = list(along_curve(SIZES, tables))
    sizes = [point.size for point in points]
    assert sizes == sorted(set(sizes))
    assert (sizes[0], sizes[-1]) == (100, 1_600)
    means = [point.result_SN.mean() for point in points]
    assert means == pytest.approx(np.interp(np.log(sizes), np.log(SIZES), tables.mean(axis=(1, 2))))


def test_its_interval_leaves_out_a_size_just_where_the_paired_difference_does():
    world = World(accuracies=(0.66, 0.6, 0.65, 0.7), num_items=600, num_seeds=4)
    own, *curve = draw_results(world, np.random.default_rng(1))
    seen = label_worth(own, 100, dict(zip(SIZES, curve, strict=True)))
    for size, table in zip(SIZES, curve, strict=True):
        difference = crossed_mean(own.astype(float) - table)
        is_inside = (seen.low is None or seen.low <= size / 100) and (
            seen.high is None or size / 100 <= seen.high
        )
        assert is_inside == (difference.low <= 0 <= difference.high)


@pytest.mark.parametrize(
    ("accuracy", "truth"), [(0.64, 400 * 4**0.4 / 100), (0.73, math.inf), (0.57, 0.0)]
)
def test_intervals_hold_the_truth_on_known_curves(accuracy, truth):
    world = World(
        accuracies=(accuracy, 0.58, 0.62, 0.67), num_seeds=3, num_items=400, seed_deviation=0.01
    )
    held = 0
    for number in range(100):
        own, *curve = draw_results(world, np.random.default_rng([2, number]))
        seen = label_worth(own, 100, dict(zip(SIZES, curve, strict=True)))
        held += (seen.low is None or seen.low <= truth) and (
            seen.high is None or truth <= seen.high
        )
    # A hundred draws tell a coverage of 95 % to within 4 points.
    assert held >= 91


def test_what_cannot_be_a_curve_is_refused():
    with pytest.raises(DataError, match="sizes of the curve are none"):
        label_worth(share_right(0.5), 100, {})
    with pytest.raises(DataError, match=r"\[0\]"):
        label_worth(share_right(0.5), 100, {0: share_right(0.5)})
    with pytest.raises(DataError, match="system is 0"):
        label_worth(share_right(0.5), 0, curve_of(0.5, 0.6, 0.7))
    with pytest.raises(DataError, match=r"\(2, 400\), \(3, 400\)"):
        label_worth(share_right(0.5), 100, {100: share_right(0.5), 400: share_right(0.6, (2, 400))})
