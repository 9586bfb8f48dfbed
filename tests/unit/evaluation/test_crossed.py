"""Means over seeds and items: against scipy where one of them is alone, and by simulation."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headstart.errors import DataError
from headstart.evaluation.crossed import (
    crossed_mean,
    crossed_share,
    crossed_spread,
    joined_spread,
)
from headstart.evaluation.simulation import World, draw_results, several_results

SEED_DEVIATIONS = (0.0, 0.005, 0.01, 0.02, 0.03)
# Texts that hardly differ, with difficulties that systems hardly share; and the other way round.
TEXTS = ((0.5, 0.2), (1.5, 0.8))
DIFFERENCES = (0.0, 0.01, 0.03)


def worlds(num_seeds):
    return [
        World(
            accuracies=(0.72 + difference, 0.72),
            num_seeds=num_seeds,
            seed_deviation=deviation,
            difficulty=difficulty,
            shared_difficulty=shared,
            shares_seeds=shares_seeds,
        )
        for deviation, (difficulty, shared), difference, shares_seeds in itertools.product(
            SEED_DEVIATIONS, TEXTS, DIFFERENCES, (False, True)
        )
    ]


def paired(results):
    return results[0].astype(float) - results[1]


def by_scipy(values):
    found = stats.ttest_1samp(values, 0)
    interval = found.confidence_interval(0.95)
    return (interval.low, interval.high, found.pvalue, found.df)


def drawn_table(num_seeds, num_items, seed=0):
    return np.random.default_rng(seed).random((num_seeds, num_items)) < 0.7


def test_one_seed_is_the_t_test_over_items_and_says_nothing_of_seeds():
    table = drawn_table(1, 80)
    seen = crossed_mean(table)
    assert (seen.low, seen.high, seen.p, seen.degrees) == pytest.approx(by_scipy(table[0] * 1.0))
    assert seen.num_seeds == 1


def test_seeds_that_all_answer_alike_are_the_t_test_over_items():
    table = np.tile(drawn_table(1, 80), (4, 1))
    seen = crossed_mean(table)
    assert (seen.low, seen.high, seen.p, seen.degrees) == pytest.approx(by_scipy(table[0] * 1.0))


def test_items_that_are_all_alike_are_the_t_test_over_seeds():
    by_seed = np.array([0.2, 0.5, 0.1, 0.4])
    seen = crossed_mean(np.tile(by_seed[:, None], (1, 60)))
    assert (seen.low, seen.high, seen.p, seen.degrees) == pytest.approx(by_scipy(by_seed))


def variance_by_loops(table):
    """The three mean squares of a two-way table with one value a cell, as textbooks sum them."""
    num_seeds, num_items = len(table), len(table[0])
    whole = sum(map(sum, table)) / (num_seeds * num_items)
    rows = [sum(row) / num_items for row in table]
    columns = [sum(column) / num_seeds for column in zip(*table, strict=True)]
    seeds = num_items * sum((row - whole) ** 2 for row in rows) / (num_seeds - 1)
    items = num_seeds * sum((column - whole) ** 2 for column in columns) / (num_items - 1)
    rest = 0.0
    for row, row_mean in zip(table, rows, strict=True):
        for value, column_mean in zip(row, columns, strict=True):
            rest += (value - row_mean - column_mean + whole) ** 2
    rest /= (num_seeds - 1) * (num_items - 1)
    return (seeds + max(0.0, items - rest)) / (num_seeds * num_items)


@given(st.integers(2, 6), st.integers(2, 30), st.integers(0, 10_000))
def test_the_variance_is_that_of_the_textbooks_mean_squares(num_seeds, num_items, seed):
    table = np.random.default_rng(seed).integers(-1, 2, (num_seeds, num_items)).astype(float)
    spread = crossed_spread(table)
    assert spread.variance == pytest.approx(variance_by_loops(table.tolist()), abs=1e-12)
    least, most = sorted((num_seeds - 1, num_items - 1))
    assert least - 1e-9 <= spread.degrees <= most + 1e-9


@given(st.integers(1, 6), st.integers(2, 40), st.integers(0, 10_000), st.floats(0, 1))
def test_the_interval_holds_the_mean_and_leaves_out_0_just_when_p_is_small(
    num_seeds, num_items, seed, share
):
    generator = np.random.default_rng(seed)
    table = generator.choice(
        [-1, 0, 1], (num_seeds, num_items), p=[0.2 * share, 0.8, 0.2 - 0.2 * share]
    )
    seen = crossed_mean(table)
    assert seen.mean == pytest.approx(table.mean())
    assert seen.low < seen.mean < seen.high
    assert (seen.p < 0.05) == (seen.low > 0 or seen.high < 0)
    mirrored = crossed_mean(-table)
    assert (mirrored.low, mirrored.high) == pytest.approx((-seen.high, -seen.low))


def test_tables_in_which_nothing_differs_leave_room_for_rare_texts():
    nothing = crossed_mean(np.zeros((3, 1_000)))
    assert (nothing.mean, nothing.p) == (0, pytest.approx(1))
    assert nothing.high == pytest.approx(3 / 1_000, rel=0.03)
    everything = crossed_share(np.ones((3, 100)))
    assert (everything.mean, everything.high) == (1, 1)
    assert everything.low == pytest.approx(0.97, abs=0.001)


def test_shares_stay_shares():
    table = np.zeros((2, 5))
    table[0, 0] = 1
    assert crossed_mean(table).low < 0
    assert crossed_share(table).low == 0
    assert crossed_share(1 - table).high == 1


@pytest.mark.parametrize("shape", [(0, 5), (3, 1), (1, 0), (4,)])
def test_too_small_a_table_is_refused(shape):
    with pytest.raises(DataError, match="at least one seed and two test items"):
        crossed_mean(np.zeros(shape))


@pytest.mark.parametrize("wrong", [1.5, -2, np.nan])
def test_what_is_no_share_is_refused(wrong):
    with pytest.raises(DataError, match="from -1 to 1"):
        crossed_mean(np.array([[0.5, wrong]]))


def exact_coverage(num_seeds, seeds, items, both):
    """The coverage for normal values, integrated over what the seeds' variance may come out as.

    The three are parts of the variance of the mean; those of items and of both are taken as known,
    as 2,000 items nearly make them.
    """
    shape, held = (num_seeds, 2_000), []
    for quantile in (np.arange(200) + 0.5) / 200:
        by_chance = stats.chi2.ppf(quantile, num_seeds - 1) / (num_seeds - 1)
        spread = joined_spread((seeds + both) * by_chance, items, shape)
        half = stats.t.ppf(0.975, spread.degrees) * np.sqrt(spread.variance)
        held.append(2 * stats.norm.cdf(half / np.sqrt(seeds + items + both)) - 1)
    return np.mean(held)


@pytest.mark.parametrize(("num_seeds", "least", "most"), [(3, 0.94, 0.965), (5, 0.949, 0.961)])
def test_whatever_share_seeds_have_in_the_variance_the_coverage_is_about_right(
    num_seeds, least, most
):
    for share, of_both in itertools.product((0, 0.2, 0.5, 0.8, 0.95), (0.02, 0.3, 0.7)):
        rest = 1 - share
        seen = exact_coverage(num_seeds, share, rest * (1 - of_both), rest * of_both)
        assert least <= seen <= most


def coverage(drawn_worlds, count, seed):
    """How often intervals hold the truth: of a mean, of a difference; and how often it is below."""
    held = np.zeros(3)
    for number in range(count):
        world = drawn_worlds[number % len(drawn_worlds)]
        results = draw_results(world, np.random.default_rng([seed, number]))
        share, difference = crossed_share(results[0]), crossed_mean(paired(results))
        first, second = world.accuracies
        truth = first - second
        held += (
            share.low <= first <= share.high,
            difference.low <= truth <= difference.high,
            difference.low > truth,
        )
    return held / count


@pytest.mark.parametrize(("num_seeds", "least", "most"), [(5, 0.93, 0.97), (3, 0.90, 0.97)])
def test_of_a_thousand_tables_the_intervals_hold_the_truth_as_often_as_they_say(
    num_seeds, least, most
):
    # A thousand tables tell a coverage of 95 % to within 1.4 points.
    of_mean, of_difference, above = coverage(worlds(num_seeds), 1_000, seed=1)
    assert least <= of_mean <= most
    assert least <= of_difference <= most
    assert above <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("num_seeds", [3, 5])
@pytest.mark.parametrize("deviation", SEED_DEVIATIONS)
def test_so_they_do_whatever_the_seeds_do(num_seeds, deviation):
    chosen = [world for world in worlds(num_seeds) if world.seed_deviation == deviation]
    for seen in coverage(chosen, 4_000, seed=2)[:2]:
        assert (0.94 if num_seeds == 5 else 0.93) <= seen <= 0.965


def test_other_seeds_count_where_a_bootstrap_over_items_alone_would_be_too_sure():
    world = World(accuracies=(0.7, 0.7), seed_deviation=0.03)
    tables = [paired(results) for results in several_results(world, 300, seed=3)]
    crossed = np.mean([crossed_mean(table).p < 0.05 for table in tables])
    of_items = [stats.ttest_1samp(table.mean(axis=0), 0).pvalue for table in tables]
    assert crossed < 0.08
    assert np.mean(np.array(of_items) < 0.05) > 0.3


def test_a_true_difference_of_three_points_is_found():
    world = World(accuracies=(0.75, 0.72), seed_deviation=0.005)
    found = [
        crossed_mean(paired(results)).low > 0 for results in several_results(world, 100, seed=4)
    ]
    assert np.mean(found) > 0.8
