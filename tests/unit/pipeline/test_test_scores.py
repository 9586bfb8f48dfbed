"""What is kept of a test: answers in order, scores on all and on what is clean."""

import numpy as np
import pytest
import safetensors.torch
import torch
from sklearn.metrics import f1_score

from headstart.pipeline.test_scores import both_scores, write_test

PROBABILITIES = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.4, 0.6]])
TARGETS = np.array([0, 1, 1, 1])


def test_both_tests_are_scored_by_the_items_they_have():
    scores = both_scores(PROBABILITIES, TARGETS, np.array([True, False, True, False]))
    assert (scores["full"]["accuracy"], scores["full"]["num_items"]) == (0.75, 4)
    assert (scores["clean"]["accuracy"], scores["clean"]["num_items"]) == (0.5, 2)
    assert scores["full"]["confusion"] == ((1, 0), (1, 2))
    assert scores["clean"]["confusion"] == ((1, 0), (1, 0))
    expected = -np.log([0.9, 0.3]).mean()
    assert scores["clean"]["loss"] == pytest.approx(expected)


def test_macro_f1_and_calibration_have_the_intervals_of_other_such_tests():
    generator = np.random.default_rng(0)
    probabilities = generator.dirichlet([1, 1, 1], 400)
    targets = np.array([generator.choice(3, p=row) for row in probabilities])
    scores = both_scores(probabilities, targets, np.ones(400, dtype=bool))["full"]
    # The bootstrap asks the same in another way.
    drawn = [generator.integers(0, 400, 400) for _ in range(200)]
    f1 = [
        f1_score(targets[rows], probabilities[rows].argmax(axis=1), average="macro")
        for rows in drawn
    ]
    low, high = scores["macro_f1_low"], scores["macro_f1_high"]
    assert low < scores["macro_f1"] < high
    assert high - low == pytest.approx(2 * 1.96 * np.std(f1), rel=0.3)
    error = scores["calibration_error"]
    assert 0 <= scores["calibration_error_low"] < error < scores["calibration_error_high"] < 1


def test_a_single_item_has_scores_without_those_intervals():
    scores = both_scores(PROBABILITIES, TARGETS, np.array([True, False, False, False]))["clean"]
    assert (scores["num_items"], scores["macro_f1_low"], scores["macro_f1_high"]) == (1, None, None)
    assert scores["calibration_error_low"] is scores["calibration_error_high"] is None


def test_where_nothing_is_clean_there_is_nothing_to_score():
    assert both_scores(PROBABILITIES, TARGETS, np.zeros(4, dtype=bool))["clean"] is None


def test_answers_are_kept_in_their_order_as_others_read_them(tmp_path):
    write_test(tmp_path, PROBABILITIES, TARGETS, np.array([True, False, True, True]))
    kept = safetensors.torch.load_file(tmp_path / "test.safetensors")
    assert kept["probabilities"].dtype == torch.float32
    np.testing.assert_allclose(kept["probabilities"].numpy(), PROBABILITIES, rtol=1e-6)
    assert kept["targets"].tolist() == TARGETS.tolist()
    assert (kept["clean"].dtype, kept["clean"].tolist()) == (torch.uint8, [1, 0, 1, 1])
