"""Batches by length: each example once, never over the budget, hardly padded, known in advance."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.batches.bucketing import (
    best_borders,
    bucketed,
    bucketed_by_count,
    bucketed_pairs,
    padding_share,
)
from headstart.errors import DataError

SHARED = Path(__file__).parents[4] / "shared" / "data" / "cls-books"
LENGTHS = st.lists(st.integers(0, 300), max_size=200)
PAIR_LENGTHS = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=120)


def review_lengths(count=1_600) -> list[int]:
    """Lengths like those of the documents' reviews: a median near 150, some ten times that."""
    draw = random.Random(8)
    return [min(2_000, max(5, int(draw.lognormvariate(5, 0.8)))) for _ in range(count)]


@settings(deadline=None, max_examples=300)
@given(LENGTHS, st.integers(300, 2_000), st.integers(0, 5), st.integers(0, 5))
def test_every_example_is_in_one_batch_and_no_batch_is_over_its_budget(
    lengths, budget, seed, epoch
):
    batches = bucketed(lengths, budget, seed, epoch)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert batch
        assert len(batch) * max(lengths[index] for index in batch) <= budget


@settings(deadline=None, max_examples=50)
@given(LENGTHS, st.integers(0, 5), st.integers(0, 5))
def test_batches_are_a_function_of_seed_and_epoch(lengths, seed, epoch):
    assert bucketed(lengths, 1_000, seed, epoch) == bucketed(lengths, 1_000, seed, epoch)


def test_arrays_are_batched_as_lists_are():
    lengths = review_lengths(300)
    assert bucketed(np.array(lengths), 4_096, 1, 2) == bucketed(lengths, 4_096, 1, 2)
    assert bucketed(np.array(lengths, dtype=np.uint16), 4_096, 1, 2) == bucketed(
        lengths, 4_096, 1, 2
    )


@pytest.mark.parametrize("other", [{"seed": 1, "epoch": 0}, {"seed": 0, "epoch": 1}])
def test_another_epoch_or_seed_mixes_and_orders_differently(other):
    lengths = review_lengths()
    first = bucketed(lengths, 4_096, seed=0, epoch=0)
    second = bucketed(lengths, 4_096, **other)
    same = {frozenset(batch) for batch in first} & {frozenset(batch) for batch in second}
    assert len(same) < 0.2 * len(first)


def test_batches_of_long_and_short_examples_come_in_no_order():
    lengths = review_lengths()
    means = [np.mean([lengths[i] for i in batch]) for batch in bucketed(lengths, 4_096, 0, 0)]
    assert abs(np.corrcoef(np.arange(len(means)), means)[0, 1]) < 5 / np.sqrt(len(means))


@pytest.mark.parametrize("epoch", range(3))
def test_lengths_like_those_of_reviews_are_padded_by_less_than_5_percent(epoch):
    lengths = review_lengths()
    batches = bucketed(lengths, 4_096, seed=0, epoch=epoch)
    assert padding_share(lengths, batches) < 0.05
    num_fewest = sum(lengths) / 4_096
    assert len(batches) < 1.3 * num_fewest + 2


@pytest.mark.shared_data
@pytest.mark.skipif(not SHARED.is_dir(), reason=f"there is no {SHARED}")
@pytest.mark.parametrize("name", ["train", "valid", "test"])
def test_the_documents_reviews_are_padded_by_less_than_5_percent(name):
    lines = (SHARED / f"{name}.review.spm").read_text(encoding="utf-8").splitlines()
    lengths = [min(len(line.split()) + 1, 4_096) for line in lines]
    for epoch in range(3):
        assert padding_share(lengths, bucketed(lengths, 4_096, seed=0, epoch=epoch)) < 0.05


@settings(deadline=None, max_examples=100)
@given(LENGTHS.filter(any))
def test_the_share_of_padding_is_that_of_padded_rows(lengths):
    batches = bucketed(lengths, 400, 0, 0)
    rows = [
        [1] * lengths[i] + [0] * (max(lengths[j] for j in b) - lengths[i])
        for b in batches
        for i in b
    ]
    positions = [is_token for row in rows for is_token in row]
    assert padding_share(lengths, batches) == pytest.approx(positions.count(0) / len(positions))


def test_no_examples_have_no_batches_and_no_padding():
    assert bucketed([], 100, 0, 0) == []
    assert padding_share([], []) == 0


def test_one_example_as_long_as_the_budget_fills_a_batch():
    assert bucketed([100], 100, 0, 0) == [[0]]


def test_an_example_too_long_for_any_batch_is_answered_in_a_sentence():
    with pytest.raises(DataError) as caught:
        bucketed([10, 5_000, 20], 4_096, 0, 0)
    for word in ("5,000", "4,096"):
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("count", [100, 400, 1_600, 6_000])
def test_few_examples_are_padded_little_too_without_many_more_batches(count):
    lengths = review_lengths(count)
    batches = bucketed(lengths, 4_096, seed=0, epoch=0)
    assert padding_share(lengths, batches) < (0.05 if count >= 400 else 0.12)
    assert len(batches) < 2 * sum(lengths) / 4_096 + 3


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=9), st.integers(0, 30))
def test_borders_are_the_best_of_all(lengths, price):
    budget, row = 30, sorted(lengths)

    def cost(borders):
        parts = [part.tolist() for part in np.split(np.array(row), borders)]
        if any(len(part) * max(part) > budget for part in parts):
            return np.inf
        return sum(len(part) * max(part) + price for part in parts)

    places = range(1, len(row))
    every = (
        [place for place in places if chosen >> place & 1] for chosen in range(0, 1 << len(row), 2)
    )
    assert cost(best_borders(np.array([row]), budget, price)) == min(map(cost, every))


def pair_lengths(count=3_000) -> tuple[list[int], list[int]]:
    """Lengths like those of translated sentences: the sides differ by a quarter, more or less."""
    draw = random.Random(9)
    sources = [min(240, max(2, int(draw.lognormvariate(3, 0.6)))) for _ in range(count)]
    targets = [min(240, max(2, int(n * draw.lognormvariate(0.1, 0.25)))) for n in sources]
    return sources, targets


@settings(deadline=None, max_examples=300)
@given(PAIR_LENGTHS, st.integers(300, 2_000), st.integers(0, 5), st.integers(0, 5))
def test_every_pair_is_in_one_batch_and_neither_side_is_over_the_budget(rows, budget, seed, epoch):
    sources, targets = [row[0] for row in rows], [row[1] for row in rows]
    batches = bucketed_pairs(sources, targets, budget, seed, epoch)
    assert sorted(index for batch in batches for index in batch) == list(range(len(rows)))
    for batch in batches:
        for side in (sources, targets):
            assert len(batch) * max(side[index] for index in batch) <= budget
    assert batches == bucketed_pairs(sources, targets, budget, seed, epoch)


def test_batches_of_pairs_are_few_and_padded_less_than_by_either_side_alone():
    sources, targets = pair_lengths()
    batches = bucketed_pairs(sources, targets, 4_096, 0, 0)
    assert len(batches) < 1.25 * max(sum(sources), sum(targets)) / 4_096 + 2
    by_source = bucketed(sources, 4_096, 0, 0)
    ours = padding_share(sources, batches) + padding_share(targets, batches)
    theirs = padding_share(sources, by_source) + padding_share(targets, by_source)
    assert ours < 0.8 * theirs


@pytest.mark.parametrize("other", [{"seed": 1, "epoch": 0}, {"seed": 0, "epoch": 1}])
def test_another_epoch_or_seed_mixes_pairs_differently(other):
    sides = pair_lengths()
    first = bucketed_pairs(*sides, 4_096, seed=0, epoch=0)
    second = bucketed_pairs(*sides, 4_096, **other)
    same = {frozenset(batch) for batch in first} & {frozenset(batch) for batch in second}
    assert len(same) < 0.2 * len(first)


def test_no_pairs_have_no_batches():
    assert bucketed_pairs([], [], 100, 0, 0) == []


@pytest.mark.parametrize("sides", [([10, 5_000], [9, 9]), ([9, 9], [10, 5_000])])
def test_a_side_too_long_for_any_batch_is_answered_in_a_sentence(sides):
    with pytest.raises(DataError, match=r"5,000 .*4,096"):
        bucketed_pairs(*sides, 4_096, 0, 0)


COUNTS = st.integers(1, 40)


@settings(deadline=None, max_examples=200)
@given(LENGTHS, COUNTS, st.integers(0, 5), st.integers(0, 5))
def test_by_count_every_example_comes_once_in_as_many_batches_each_epoch(
    lengths, count, seed, epoch
):
    batches = bucketed_by_count(lengths, count, seed, epoch)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    assert len(batches) == -(-len(lengths) // count)
    sizes = [len(batch) for batch in batches]
    # No example weighs more than others for standing in a small rest.
    assert all(max(sizes) - 1 <= size <= count for size in sizes)
    assert batches == bucketed_by_count(lengths, count, seed, epoch)


def test_by_count_batches_are_padded_far_less_than_batches_drawn_at_random():
    lengths = review_lengths()
    order = random.Random(1).sample(range(len(lengths)), len(lengths))
    at_random = [order[start : start + 16] for start in range(0, len(order), 16)]
    for epoch in range(3):
        bucketed_share = padding_share(lengths, bucketed_by_count(lengths, 16, 0, epoch))
        assert bucketed_share < 0.06 < 0.6 < padding_share(lengths, at_random)


@pytest.mark.parametrize("lengths", [review_lengths(400), [7] * 400])
def test_by_count_epochs_and_seeds_mix_differently(lengths):
    first = bucketed_by_count(lengths, 16, seed=0, epoch=0)
    for other in ({"seed": 1, "epoch": 0}, {"seed": 0, "epoch": 1}):
        second = bucketed_by_count(lengths, 16, **other)
        same = {frozenset(batch) for batch in first} & {frozenset(batch) for batch in second}
        assert len(same) < len(first) / 2
        assert first != second


def test_by_count_the_order_of_batches_says_nothing_of_their_lengths():
    lengths = review_lengths()
    longest = [max(lengths[i] for i in batch) for batch in bucketed_by_count(lengths, 16, 0, 0)]
    ranks = np.argsort(np.argsort(longest))
    assert abs(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]) < 0.3
