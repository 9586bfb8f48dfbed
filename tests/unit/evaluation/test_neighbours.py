"""Nearest neighbours, held against a loop."""

import numpy as np
import pytest

from headstart.evaluation.neighbours import nearest_neighbours


def cosine(one, other) -> float:
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))


def test_neighbours_are_those_of_a_loop():
    vectors = np.random.default_rng(1).standard_normal((40, 5)).astype(np.float32)
    for place, found in enumerate(nearest_neighbours(vectors, 6)):
        others = [other for other in range(40) if other != place]
        others.sort(key=lambda other: -cosine(vectors[place], vectors[other]))
        assert [neighbour.place for neighbour in found] == others[:6]
        assert [neighbour.cosine for neighbour in found] == pytest.approx(
            [cosine(vectors[place], vectors[other]) for other in others[:6]], abs=1e-5
        )


def test_there_are_no_more_neighbours_than_others():
    vectors = np.eye(3, dtype=np.float32)
    assert [len(found) for found in nearest_neighbours(vectors, 9)] == [2, 2, 2]


def test_vector_of_zeros_is_like_nothing_and_breaks_nothing():
    vectors = np.array([[0, 0], [1, 0], [2, 0]], dtype=np.float32)
    zero, one, _ = nearest_neighbours(vectors, 1)
    assert zero[0].cosine == 0
    assert one[0] == (2, 1.0)
