"""Batches of pairs in few shapes: each pair once, none out of its shape, little padding."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.batches import pair_shapes
from headstart.batches.pair_shapes import MOST_SHAPES, ShapedPairBatches, best_ends
from headstart.errors import DataError


def described(num_pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Draws lengths like those of Multi30k's descriptions in pieces: 15 each on average."""
    generator = np.random.default_rng(5)
    source = np.clip(np.exp(generator.normal(2.66, 0.33, num_pairs)), 4, 50)
    target = np.clip(source * np.exp(generator.normal(0.02, 0.15, num_pairs)), 4, 60)
    return source.round().astype(int), target.round().astype(int)


def padding_of(batches: ShapedPairBatches, sides: tuple[np.ndarray, np.ndarray]) -> float:
    """Returns the share of all positions of an epoch that hold nothing."""
    shapes = [batches.shape_at(step) for step in range(batches.steps_per_epoch)]
    num_positions = sum(rows * (source + target) for rows, source, target in shapes)
    return 1 - sum(int(side.sum()) for side in sides) / num_positions


@settings(max_examples=40, deadline=None)
@given(
    pairs=st.lists(st.tuples(st.integers(1, 120), st.integers(1, 120)), min_size=1, max_size=300),
    budget=st.integers(120, 900),
    epoch=st.integers(0, 3),
)
def test_each_pair_is_read_once_an_epoch_in_a_shape_that_holds_it(pairs, budget, epoch):
    source, target = np.array(pairs).T
    batches = ShapedPairBatches(source, target, budget, seed=1)
    first = epoch * batches.steps_per_epoch
    read, shapes = [], set()
    for step in range(first, first + batches.steps_per_epoch):
        chosen, shape = batches.at(step), batches.shape_at(step)
        read += chosen
        shapes.add(shape)
        # Pairs are spread evenly, so that hardly a row is left empty.
        assert len(chosen) in {shape.num_rows, shape.num_rows - 1}
        assert source[chosen].max() <= shape.source_length
        assert target[chosen].max() <= shape.target_length
        assert shape.num_rows * max(shape.source_length, shape.target_length) <= budget
    assert sorted(read) == list(range(len(pairs)))
    assert len(shapes) <= MOST_SHAPES


@pytest.mark.parametrize(("budget", "num_pairs"), [(4_096, 29_000), (25_000, 60_000)])
def test_descriptions_need_few_shapes_and_little_padding(budget, num_pairs):
    sides = described(num_pairs)
    batches = ShapedPairBatches(*sides, budget, seed=1)
    assert len({part.shape for part in batches.parts}) <= MOST_SHAPES
    assert padding_of(batches, sides) < 0.10
    # Steps are nearly as full as they may be.
    assert batches.steps_per_epoch < 1.25 * max(side.sum() for side in sides) / budget


def test_parts_are_the_cheapest_of_all_ways_to_cut(monkeypatch):
    generator = np.random.default_rng(2)
    for most in (2, 3, 9):
        monkeypatch.setattr(pair_shapes, "MOST_SHAPES", most)
        costs = [generator.integers(1, 30, end).astype(float) for end in range(1, 8)]
        ways = [
            (*inner, 7) for num in range(min(most, 7)) for inner in combinations(range(1, 7), num)
        ]
        prices = [
            sum(costs[end - 1][begin] for begin, end in zip((0, *way), way, strict=False))
            for way in ways
        ]
        found = tuple(best_ends(costs))
        assert prices[ways.index(found)] == min(prices)


def test_a_seed_gives_the_same_order_and_epochs_mix_differently():
    sides = described(2_000)
    one, same, other = (ShapedPairBatches(*sides, 2_000, seed=seed) for seed in (1, 1, 2))
    late = 3 * one.steps_per_epoch + 2
    assert one.at(late) == same.at(late)
    assert [one.at(step) for step in range(5)] != [other.at(step) for step in range(5)]
    sets = [
        {frozenset(one.at(epoch * one.steps_per_epoch + step)) for step in range(10)}
        for epoch in (0, 1)
    ]
    assert not sets[0] & sets[1]


def test_what_is_too_long_for_any_batch_and_no_pairs_at_all_are_refused():
    with pytest.raises(DataError, match=r"longest side of a pair has 401 tokens"):
        ShapedPairBatches([401], [2], 400, seed=0)
    with pytest.raises(DataError, match="There are no pairs"):
        ShapedPairBatches([], [], 400, seed=0)
