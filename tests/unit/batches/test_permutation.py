"""A computed order: every number once, any place at once, and shuffled like a shuffled one."""

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.batches.permutation import permuted
from headstart.errors import DataError

SIZES = st.one_of(st.integers(1, 70), st.integers(1, 5_000))
SEEDS = st.integers(0, 2**63 - 1)


def whole(size: int, seed: int, *purpose) -> list[int]:
    return permuted(np.arange(size), size, seed, *purpose).tolist()


@settings(deadline=None, max_examples=200)
@given(SIZES, SEEDS, st.integers(0, 100))
def test_every_number_stands_at_exactly_one_place(size, seed, epoch):
    assert sorted(whole(size, seed, "rows", epoch)) == list(range(size))


@settings(deadline=None, max_examples=100)
@given(SIZES, SEEDS, st.data())
def test_any_place_asked_for_alone_is_that_place_of_the_whole(size, seed, data):
    order = whole(size, seed)
    places = data.draw(st.lists(st.integers(0, size - 1), max_size=20))
    assert permuted(np.array(places, dtype=np.int64), size, seed).tolist() == [
        order[place] for place in places
    ]


def test_the_places_asked_for_are_left_as_they_are():
    places = np.arange(10)
    permuted(places, 10, 0)
    assert places.tolist() == list(range(10))


@pytest.mark.parametrize("size", [2**31, 2**32 + 1, 10**12, 2**60 + 7])
def test_orders_far_too_long_to_hold_can_be_asked_at_any_place(size):
    draw = random.Random(size)
    places = np.array(draw.sample(range(size), 2_000))
    found = permuted(places, size, seed=1)
    assert len(set(found.tolist())) == 2_000
    assert found.min() >= 0
    assert found.max() < size
    assert abs(found.mean() / size - 0.5) < 0.05


def test_seed_and_purpose_each_give_another_order():
    orders = [
        whole(50, 1, "rows", 0),
        whole(50, 2, "rows", 0),
        whole(50, 1, "rows", 1),
        whole(50, 1, "a", 0),
    ]
    assert len({tuple(order) for order in orders}) == 4
    assert whole(50, 1, "rows", 0) == orders[0]


@pytest.mark.parametrize("size", [1_000, 4_095, 4_096, 4_097, 10_000])
def test_a_long_order_looks_shuffled(size):
    order = np.array(whole(size, 3))
    places = np.arange(size)
    assert abs(np.corrcoef(places, order)[0, 1]) < 5 / np.sqrt(size)
    assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 5 / np.sqrt(size)
    # A shuffled order leaves one number at its place, on average, and one beside its neighbour.
    assert (places == order).sum() < 8
    assert (np.diff(order) == 1).sum() < 8


@pytest.mark.parametrize("size", [2, 3, 4, 5, 7, 8, 9, 16])
def test_over_many_seeds_every_number_stands_about_as_often_at_every_place(size):
    num_seeds = 120 * size
    orders = np.array([whole(size, seed) for seed in range(num_seeds)])
    for place in range(size):
        counts = np.bincount(orders[:, place], minlength=size)
        # A tenth is the standard deviation of chance; small networks mix a little less well.
        assert counts.min() > 0.4 * 120
        assert counts.max() < 1.8 * 120


@pytest.mark.parametrize("size", [2, 3, 4])
def test_over_many_seeds_every_order_of_a_few_comes_about_as_often(size):
    counts = Counter(tuple(whole(size, seed)) for seed in range(2_400))
    expected = 2_400 / {2: 2, 3: 6, 4: 24}[size]
    assert len(counts) == {2: 2, 3: 6, 4: 24}[size]
    assert all(abs(count - expected) < 0.5 * expected for count in counts.values())


def test_neighbours_in_one_epoch_are_none_in_the_next():
    first, second = (whole(2_000, 0, "rows", epoch) for epoch in (0, 1))
    pairs = [set(pairwise(order)) for order in (first, second)]
    assert len(pairs[0] & pairs[1]) < 8


def test_an_order_of_nothing_has_no_places():
    assert permuted(np.zeros(0, dtype=np.int64), 0, 1).tolist() == []


@pytest.mark.parametrize(("place", "size"), [(0, 0), (5, 5), (-1, 5), (7, 1)])
def test_a_place_that_an_order_has_not_is_answered_in_a_sentence(place, size):
    with pytest.raises(DataError, match=f"Place {place} .* order of {size}"):
        permuted(np.array([place]), size, 1)
