"""Draws of many numbers at once: each its own, and all of them like chance."""

import math

import numpy as np

from headstart.batches.draws import drawn

NUM_DEVIATIONS = 5


def test_a_draw_is_a_function_of_seed_purpose_and_number_alone():
    together = drawn(np.arange(100), 3, "pair", 7)
    assert drawn(np.array([41]), 3, "pair", 7).tolist() == [together[41]]
    for seed, *purpose in ((4, "pair", 7), (3, "other", 7), (3, "pair", 8)):
        assert not (drawn(np.arange(100), seed, *purpose) == together).any()


def test_draws_are_the_ones_they_always_were():
    assert drawn(np.arange(3), 0, "a").tolist() == [
        5421632969951502575,
        9899356830204431827,
        4568518184261527269,
    ]


def test_every_bit_is_as_often_one_as_zero_and_follows_no_other():
    count = 20_000
    bits = drawn(np.arange(count), 0, "bits")[:, None] >> np.arange(64, dtype=np.uint64) & 1
    signs = 2.0 * bits - 1
    deviation = 1 / math.sqrt(count)
    assert np.abs(signs.mean(axis=0)).max() < NUM_DEVIATIONS * deviation
    beside = signs.T @ signs / count
    np.fill_diagonal(beside, 0)
    onward = signs[1:].T @ signs[:-1] / count
    assert max(np.abs(beside).max(), np.abs(onward).max()) < NUM_DEVIATIONS * deviation
