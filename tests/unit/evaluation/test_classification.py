"""Scores of labels against counts made by hand."""

import json
import math
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.errors import DataError
from headstart.evaluation.classification import score_labels
from headstart.evaluation.intervals import share_interval


def macro_f1_by_hand(confusion) -> float:
    scores = []
    for label, row in enumerate(confusion):
        right, is_label = row[label], sum(row)
        said = sum(other[label] for other in confusion)
        scores.append(2 * right / (said + is_label) if said + is_label else 0.0)
    return sum(scores) / len(scores)


@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(2, 5))
def test_scores_are_those_of_a_loop(seed, num_items, num_labels):
    generator = np.random.default_rng(seed)
    probabilities = generator.dirichlet(np.full(num_labels, 0.4), num_items).astype(np.float32)
    targets = generator.integers(0, generator.integers(1, num_labels + 1), num_items)
    confusion = [[0] * num_labels for _ in range(num_labels)]
    loss = 0.0
    for row, target in zip(probabilities, targets, strict=True):
        confusion[target][int(np.argmax(row))] += 1
        loss -= math.log(max(float(row[target]), 1e-12)) / num_items
    num_right = sum(confusion[label][label] for label in range(num_labels))
    seen = score_labels(probabilities, targets)
    assert seen.confusion == tuple(map(tuple, confusion))
    assert seen.accuracy == pytest.approx(num_right / num_items)
    assert (seen.accuracy_low, seen.accuracy_high) == share_interval(num_right, num_items)
    assert seen.macro_f1 == pytest.approx(macro_f1_by_hand(confusion))
    assert seen.loss == pytest.approx(loss, rel=1e-5)
    assert seen.num_items == num_items
    assert 0 <= seen.calibration_error <= 1


def test_scores_are_written_as_json_and_read_again():
    seen = score_labels(np.eye(3)[[0, 1, 1]], np.array([0, 1, 2]))
    read = json.loads(json.dumps(asdict(seen)))
    assert read["confusion"] == [[1, 0, 0], [0, 1, 0], [0, 1, 0]]
    assert read["accuracy"] == pytest.approx(2 / 3)
    assert all(isinstance(read[key], float | int) for key in read if key != "confusion")


def test_a_label_that_never_occurs_counts_as_nought_in_macro_f1():
    seen = score_labels(np.eye(3)[[0, 1]], np.array([0, 1]))
    assert seen.accuracy == 1
    assert seen.macro_f1 == pytest.approx(2 / 3)


def test_certain_and_wrong_costs_much_but_not_infinitely():
    assert score_labels(np.array([[1.0, 0.0]]), np.array([1])).loss == pytest.approx(
        27.63, abs=0.01
    )


def test_nothing_to_score_and_no_numbers_are_refused():
    with pytest.raises(DataError, match="0 examples"):
        score_labels(np.zeros((0, 2)), np.zeros(0, dtype=int))
    with pytest.raises(DataError, match="example 2 of 2"):
        score_labels(np.array([[0.5, 0.5], [np.nan, 0.5]]), np.array([0, 1]))
