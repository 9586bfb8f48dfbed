"""Batches of pairs: each pair once an epoch, none above its budget, any step at once."""

import numpy as np
import pytest

from headstart.batches.bucketing import bucketed_pairs, padding_share
from headstart.batches.pair_batches import PairBatches
from headstart.errors import DataError

BUDGET = 400


@pytest.fixture(scope="module")
def lengths():
    generator = np.random.default_rng(4)
    source = generator.integers(1, 60, 700)
    target = np.clip(source + generator.integers(-8, 9, 700), 1, 90)
    return source, target


def epoch_of(batches: PairBatches, epoch: int) -> list[list[int]]:
    first = epoch * batches.steps_per_epoch
    return [batches.at(step) for step in range(first, first + batches.steps_per_epoch)]


def test_every_epoch_reads_each_pair_once_in_as_many_steps(lengths):
    batches = PairBatches(*lengths, BUDGET, seed=1)
    for epoch in range(4):
        read = sorted(index for batch in epoch_of(batches, epoch) for index in batch)
        assert read == list(range(700))


def test_neither_side_is_ever_above_the_budget(lengths):
    batches = PairBatches(*lengths, BUDGET, seed=1)
    for epoch in range(20):
        for batch in epoch_of(batches, epoch):
            for side in lengths:
                assert len(batch) * side[batch].max() <= BUDGET


def test_epochs_mix_differently_and_a_seed_gives_them_again(lengths):
    one, same, other = (PairBatches(*lengths, BUDGET, seed=seed) for seed in (1, 1, 2))
    assert epoch_of(one, 0) != epoch_of(one, 1)
    assert epoch_of(one, 3) == epoch_of(same, 3)
    assert epoch_of(one, 3) != epoch_of(other, 3)
    sets = [{frozenset(batch) for batch in epoch_of(one, epoch)} for epoch in (0, 1)]
    assert len(sets[0] & sets[1]) < len(sets[0]) / 4


def test_a_late_step_is_the_one_that_is_reached_step_by_step(lengths):
    batches = PairBatches(*lengths, BUDGET, seed=1)
    step_by_step = [batches.at(step) for step in range(3 * batches.steps_per_epoch)]
    assert PairBatches(*lengths, BUDGET, seed=1).at(len(step_by_step) - 1) == step_by_step[-1]


def test_about_as_little_is_padded_as_where_each_epoch_is_cut_anew(lengths):
    ours = epoch_of(PairBatches(*lengths, BUDGET, seed=1), 0)
    anew = bucketed_pairs(lengths[0].tolist(), lengths[1].tolist(), BUDGET, seed=1, epoch=0)
    for side in lengths:
        assert padding_share(side, ours) < padding_share(side, anew) + 0.03
    assert len(ours) <= 1.25 * len(anew)


def test_a_pair_that_fills_a_batch_stands_alone():
    batches = PairBatches([BUDGET, 3, 3], [2, 2, 2], BUDGET, seed=0)
    assert sorted(map(sorted, epoch_of(batches, 0))) == [[0], [1, 2]]


def test_what_is_too_long_for_any_batch_and_no_pairs_at_all_are_refused():
    with pytest.raises(DataError, match=r"longest side of a pair has 401 tokens"):
        PairBatches([401], [2], BUDGET, seed=0)
    with pytest.raises(DataError, match="There are no pairs"):
        PairBatches([], [], BUDGET, seed=0)
