"""Intervals of statistics: those of a mean where they are one, and by simulation where not."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from headstart.errors import DataError
from headstart.evaluation.calibration import expected_calibration_error
from headstart.evaluation.crossed import crossed_share
from headstart.evaluation.crossed_statistic import (
    NUM_GROUPS,
    crossed_statistic,
    item_groups,
    macro_f1,
)


def accuracy(probabilities, targets):
    return float((probabilities.argmax(axis=1) == targets).mean())


def drawn(generator, num_seeds, num_items, luck=0.0, stretch=1.0):
    """Probabilities of two labels, one of them rare, that seeds see alike but for their luck."""
    targets = (generator.random(num_items) < 0.3).astype(int)
    seen = 2 * targets - 1 + generator.standard_normal(num_items)
    seen = seen + 0.5 * generator.standard_normal((num_seeds, num_items))
    logits = stretch * (1.6 * seen - 0.85) + luck * generator.standard_normal((num_seeds, 1))
    chances = 1 / (1 + np.exp(-logits))
    return np.stack([1 - chances, chances], axis=-1), targets


def test_of_a_mean_it_is_the_crossed_mean_when_every_item_is_a_group():
    probabilities, targets = drawn(np.random.default_rng(0), 3, NUM_GROUPS)
    seen = crossed_statistic(accuracy, probabilities, targets)
    plain = crossed_share(probabilities.argmax(axis=-1) == targets)
    assert (seen.mean, seen.low, seen.high) == pytest.approx((plain.mean, plain.low, plain.high))


def test_of_a_mean_it_is_nearly_the_crossed_mean_with_groups():
    probabilities, targets = drawn(np.random.default_rng(1), 5, 2_000, luck=0.2)
    seen = crossed_statistic(accuracy, probabilities, targets)
    plain = crossed_share(probabilities.argmax(axis=-1) == targets)
    assert seen.mean == pytest.approx(plain.mean)
    assert seen.high - seen.low == pytest.approx(plain.high - plain.low, rel=0.25)
    assert (seen.num_seeds, seen.num_items) == (5, 2_000)


def test_its_middle_is_the_mean_over_seeds():
    probabilities, targets = drawn(np.random.default_rng(2), 4, 300)
    expected = [f1_score(targets, one.argmax(axis=1), average="macro") for one in probabilities]
    seen = crossed_statistic(macro_f1, probabilities, targets)
    assert seen.mean == pytest.approx(np.mean(expected))
    assert 0 <= seen.low < seen.mean < seen.high <= 1


@pytest.mark.parametrize("num_items", [2, 39, 40, 41, 2_000])
def test_groups_hold_every_item_once_and_are_of_about_one_size(num_items):
    groups = item_groups(num_items)
    assert sorted(np.concatenate(groups).tolist()) == list(range(num_items))
    assert len(groups) == min(NUM_GROUPS, num_items)
    assert max(map(len, groups)) - min(map(len, groups)) <= 1


def fast_macro_f1(probabilities, targets):
    table = np.bincount(2 * targets + probabilities.argmax(axis=1), minlength=4).reshape(2, 2)
    return float((2 * np.diag(table) / np.maximum(1, table.sum(axis=0) + table.sum(axis=1))).mean())


@pytest.mark.parametrize(
    # Bins make the calibration error jump, so that its intervals are rather too wide.
    ("statistic", "stretch", "most"),
    [(fast_macro_f1, 1.0, 0.99), (expected_calibration_error, 1.6, 1.0)],
)
def test_the_interval_holds_what_comes_out_on_average(statistic, stretch, most):
    circumstances = {"luck": 0.4, "stretch": stretch}
    many, targets = drawn(np.random.default_rng(3), 100, 20_000, **circumstances)
    truth = np.mean([statistic(one, targets) for one in many])
    held = 0
    for number in range(100):
        results = drawn(np.random.default_rng([4, number]), 5, 600, **circumstances)
        seen = crossed_statistic(statistic, *results)
        held += seen.low <= truth <= seen.high
    # A hundred draws tell a coverage of 95 % to within 4 points.
    assert 0.91 <= held / 100 <= most


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(DataError, match=r"\(3, 2\) and the targets \(2,\)"):
        crossed_statistic(accuracy, np.full((4, 3, 2), 0.5), np.zeros(2, dtype=int))
    with pytest.raises(DataError, match="two test items"):
        crossed_statistic(accuracy, np.full((4, 1, 2), 0.5), np.zeros(1, dtype=int))


@pytest.mark.parametrize("num_labels", [2, 5])
def test_macro_f1_is_that_of_scikit_learn_where_labels_are_missing_too(num_labels):
    random = np.random.default_rng(num_labels)
    for _ in range(20):
        probabilities = random.dirichlet(np.ones(num_labels), 8)
        targets = random.integers(0, num_labels - 1, 8)
        expected = f1_score(
            targets,
            probabilities.argmax(axis=1),
            labels=np.arange(num_labels),
            average="macro",
            zero_division=0,
        )
        assert macro_f1(probabilities, targets) == pytest.approx(expected)
