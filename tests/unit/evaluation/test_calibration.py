"""Temperature and calibration error, against loops and a grid."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.errors import DataError
from headstart.evaluation.calibration import (
    COLDEST,
    HOTTEST,
    PRIOR_DEVIATION,
    expected_calibration_error,
    fit_temperature,
    reliability,
    softened,
)


def nats(logits, targets, temperature) -> float:
    total = 0.0
    for row, target in zip(logits.tolist(), targets.tolist(), strict=True):
        scaled = [value / temperature for value in row]
        top = max(scaled)
        total += math.log(sum(math.exp(value - top) for value in scaled)) + top - scaled[target]
    return total / len(targets)


def criterion(logits, targets, temperature) -> float:
    """The nats of all items and of the temperature under its prior."""
    prior = np.log(temperature) ** 2 / (2 * PRIOR_DEVIATION**2)
    return len(targets) * nats(logits, targets, temperature) + prior


def drawn(seed, num_items=300, num_labels=3, scale=1.0):
    """Logits that are right about how sure they are, then stretched."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(0, 1.5, (num_items, num_labels))
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    targets = np.array([generator.choice(num_labels, p=row) for row in chances])
    return logits * scale, targets


@pytest.mark.parametrize("num_items", [4, 300])
@pytest.mark.parametrize("scale", [0.2, 1.0, 3.0, 10.0])
def test_the_temperature_is_the_best_of_a_fine_grid(scale, num_items):
    logits, targets = drawn(1, num_items, scale=scale)
    grid = np.geomspace(COLDEST, HOTTEST, 400)
    best = min(grid, key=lambda temperature: criterion(logits, targets, temperature))
    fitted = fit_temperature(logits, targets)
    assert criterion(logits, targets, fitted) <= criterion(logits, targets, best) + 1e-9
    assert fitted == pytest.approx(best, rel=0.02)


def test_stretched_logits_are_shrunk_by_what_they_were_stretched():
    logits, targets = drawn(2, num_items=4_000)
    plain = fit_temperature(logits, targets)
    assert plain == pytest.approx(1, abs=0.1)
    assert fit_temperature(logits * 4, targets) == pytest.approx(4 * plain, rel=0.02)


@given(
    st.integers(0, 10_000),
    st.integers(1, 12),
    st.integers(2, 4),
    st.sampled_from([0.0, 1e-3, 1.0, 100.0, 1e4]),
)
def test_it_is_bounded_and_never_worse_than_none(seed, num_items, num_labels, scale):
    generator = np.random.default_rng(seed)
    logits = generator.normal(0, 1, (num_items, num_labels)) * scale
    targets = generator.integers(0, num_labels, num_items)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = fit_temperature(logits, targets)
    assert COLDEST * 0.999 <= fitted <= HOTTEST * 1.001
    plain = criterion(logits, targets, 1.0)
    assert criterion(logits, targets, fitted) <= plain * (1 + 1e-12)
    # The prior is at its best at 1, so what is gained elsewhere is gained on the items.
    assert nats(logits, targets, fitted) <= nats(logits, targets, 1.0) * (1 + 1e-12)


def test_a_few_texts_that_are_all_right_do_not_make_a_classifier_certain():
    logits = np.tile([1.0, -1.0], (15, 1))
    fitted = fit_temperature(logits, np.zeros(15, dtype=int))
    assert 0.4 < fitted < 1
    assert softened(logits, fitted).max() < 0.995


def test_the_more_texts_are_right_the_colder_and_the_more_are_wrong_the_hotter():
    logits = np.array([[2.0, -1.0], [1.0, 0.0], [3.0, 1.0]])
    counts = (1, 10, 100, 1_000)
    right, wrong = (
        [fit_temperature(np.tile(logits, (n, 1)), np.full(3 * n, label)) for n in counts]
        for label in (0, 1)
    )
    assert right == sorted(right, reverse=True)
    assert wrong == sorted(wrong)
    assert COLDEST < right[-1] < 0.3
    assert wrong[-1] > 15


def test_nothing_to_fit_on_changes_nothing():
    assert fit_temperature(np.zeros((0, 2)), np.zeros(0, dtype=int)) == 1.0
    assert fit_temperature(np.zeros((5, 2)), np.ones(5, dtype=int)) == pytest.approx(1.0)


def test_softened_probabilities_add_up_and_keep_their_order():
    logits = np.array([[800.0, 0.0, -800.0], [0.1, 0.2, 0.3]], dtype=np.float32)
    for temperature in (0.05, 1.0, 20.0):
        seen = softened(logits, temperature)
        assert seen.sum(axis=1) == pytest.approx([1, 1])
        assert (seen.argmax(axis=1) == [0, 2]).all()
    assert softened(logits, 20.0)[1].max() < softened(logits, 1.0)[1].max()


def error_by_loop(probabilities, targets, num_bins) -> float:
    total = 0.0
    for number in range(num_bins):
        low, high = number / num_bins, (number + 1) / num_bins
        inside = [
            (max(row), float(np.argmax(row) == target))
            for row, target in zip(probabilities.tolist(), targets.tolist(), strict=True)
            if low < max(row) <= high
        ]
        if inside:
            confidence, right = np.mean(inside, axis=0)
            total += len(inside) / len(targets) * abs(confidence - right)
    return total


@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(2, 5), st.sampled_from([1, 7, 15]))
def test_the_calibration_error_is_that_of_a_loop_over_bins(seed, num_items, num_labels, num_bins):
    generator = np.random.default_rng(seed)
    probabilities = generator.dirichlet(np.full(num_labels, 0.5), num_items)
    targets = generator.integers(0, num_labels, num_items)
    seen = expected_calibration_error(probabilities, targets, num_bins)
    assert seen == pytest.approx(error_by_loop(probabilities, targets, num_bins), abs=1e-12)
    bins = reliability(probabilities, targets, num_bins)
    assert sum(part.num_items for part in bins) == num_items
    assert [part.confidence for part in bins] == sorted(part.confidence for part in bins)


def test_sure_and_right_has_no_error_and_sure_and_wrong_has_all():
    sure = np.tile([1.0, 0.0], (5, 1))
    assert expected_calibration_error(sure, np.zeros(5, dtype=int)) == 0
    assert expected_calibration_error(sure, np.ones(5, dtype=int)) == 1
    assert expected_calibration_error(sure[:0], np.zeros(0, dtype=int)) == 0
    assert reliability(sure[:0], np.zeros(0, dtype=int)) == ()


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(DataError, match=r"\(3, 2\) and the targets \(2,\)"):
        fit_temperature(np.zeros((3, 2)), np.zeros(2, dtype=int))
    with pytest.raises(DataError, match="from 0 to 2, but there are 2 labels"):
        expected_calibration_error(np.full((3, 2), 0.5), np.array([0, 1, 2]))
    with pytest.raises(DataError, match="temperature is 0"):
        softened(np.zeros((1, 2)), 0.0)
