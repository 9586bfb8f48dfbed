"""Packed rows: every token of an epoch once, any step at once, documents told apart."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headstart.batches.packing import PackedBatches, rows_in_order
from headstart.errors import DataError

relaxed = settings(
    deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
LENGTHS = st.lists(st.integers(1, 40), min_size=30, max_size=60)


def epoch_rows(batches: PackedBatches, epoch: int):
    first = epoch * batches.steps_per_epoch
    return [batches.at(step) for step in range(first, first + batches.steps_per_epoch)]


@relaxed
@given(LENGTHS, st.integers(1, 30), st.integers(1, 4), st.integers(0, 9), st.integers(1, 3))
def test_every_token_of_an_epoch_appears_once(
    counting_store, lengths, length, sequences, seed, shards
):
    store = counting_store(lengths, shards)
    if store.num_tokens < (sequences + 1) * length:
        return
    batches = PackedBatches(store, length, sequences, seed)
    for epoch in (0, 1, 5):
        tokens = np.concatenate([rows.tokens for rows in epoch_rows(batches, epoch)])
        assert tokens.shape == (batches.steps_per_epoch * sequences, length)
        assert len(np.unique(tokens)) == tokens.size
        # Rows are stretches of the text, as they stand in it.
        assert (np.diff(tokens, axis=1) == 1).all()
        assert tokens.min() >= 0
        assert tokens.max() < store.num_tokens
        # What no row of this epoch has is less than a step and the two ends of the text.
        assert store.num_tokens - tokens.size < (sequences + 2) * length


@relaxed
@given(LENGTHS, st.integers(2, 30), st.integers(1, 3), st.integers(1, 3))
def test_documents_are_numbered_as_they_begin_in_the_row(
    counting_store, lengths, length, sequences, shards
):
    store = counting_store(lengths, shards)
    document_of = [number for number, count in enumerate(lengths) for _ in range(count)]
    batches = PackedBatches(store, length, sequences, seed=1)
    for step in range(batches.steps_per_epoch):
        rows = batches.at(step)
        assert rows.documents.shape == rows.tokens.shape == (sequences, length)
        for tokens, documents in zip(rows.tokens.tolist(), rows.documents.tolist(), strict=True):
            numbers = [document_of[token] for token in tokens]
            assert documents == [number - numbers[0] for number in numbers]


def test_any_step_asked_for_directly_is_the_one_a_walk_comes_to(counting_store):
    lengths = [17] * 300
    batches = PackedBatches(counting_store(lengths, 4), 64, 4, seed=3)
    walked = [batches.at(step).tokens.tolist() for step in range(4 * batches.steps_per_epoch)]
    for step in (37, 0, 55, 71, 18):
        fresh = PackedBatches(counting_store(lengths, 2), 64, 4, seed=3)
        assert fresh.at(step).tokens.tolist() == walked[step]


def test_a_step_far_away_is_there_at_once(counting_store):
    batches = PackedBatches(counting_store([50] * 100), 64, 4, seed=3)
    assert batches.at(10**12).tokens.shape == (4, 64)


@pytest.mark.parametrize("change", [{"seed": 1}, {"epoch": 1}])
def test_another_epoch_or_seed_has_another_order_and_other_rows(counting_store, change):
    store = counting_store([50] * 400)
    seen = []
    for seed, epoch in [(0, 0), (change.get("seed", 0), change.get("epoch", 0))]:
        rows = epoch_rows(PackedBatches(store, 64, 4, seed), epoch)
        seen.append(np.concatenate([row.tokens[:, 0] for row in rows]))
    assert seen[0].tolist() != seen[1].tolist()
    assert seen[0][0] % 64 != seen[1][0] % 64


def test_rows_of_an_epoch_come_in_no_order(counting_store):
    batches = PackedBatches(counting_store([100] * 1_000), 50, 4, seed=0)
    firsts = np.concatenate([rows.tokens[:, 0] for rows in epoch_rows(batches, 0)])
    assert abs(np.corrcoef(np.arange(len(firsts)), firsts)[0, 1]) < 5 / np.sqrt(len(firsts))


def test_over_the_epochs_every_token_is_read_but_for_less_than_a_row_at_the_end(counting_store):
    store = counting_store([10] * 30)
    batches = PackedBatches(store, 32, 3, seed=0)
    epochs = [epoch_rows(batches, epoch) for epoch in range(150)]
    seen = np.unique(np.stack([rows.tokens for epoch in epochs for rows in epoch]))
    assert store.num_tokens - len(seen) < 32


def test_how_the_store_is_cut_into_shards_changes_no_batch(counting_store):
    one, many = (PackedBatches(counting_store([7] * 200, n), 32, 4, seed=5) for n in (1, 9))
    for step in range(2 * one.steps_per_epoch):
        assert one.at(step).tokens.tolist() == many.at(step).tokens.tolist()
        assert one.at(step).documents.tolist() == many.at(step).documents.tolist()


@pytest.mark.parametrize("num_tokens", [1, 39, 40, 79])
def test_too_little_text_is_answered_in_a_sentence(counting_store, num_tokens):
    with pytest.raises(DataError) as caught:
        PackedBatches(counting_store([num_tokens]), length=40, sequences=2, seed=0)
    assert f"{num_tokens} tokens" in str(caught.value)
    assert "2 × 40" in str(caught.value)


@pytest.mark.parametrize("num_tokens", [80, 119, 120])
def test_text_that_fills_a_step_is_not_called_too_little(counting_store, num_tokens):
    batches = PackedBatches(counting_store([num_tokens]), length=40, sequences=2, seed=0)
    assert batches.at(0).tokens.shape == (2, 40)


@relaxed
@given(LENGTHS, st.integers(2, 30), st.integers(1, 4), st.integers(0, 1), st.integers(1, 3))
def test_rows_in_order_have_every_token_once_but_for_those_they_share(
    counting_store, lengths, length, sequences, num_shared, shards
):
    store = counting_store(lengths, shards)
    batches = list(rows_in_order(store, length, sequences, num_shared))
    assert all(batch.tokens.shape == (len(batch.starts), length) for batch in batches[:-1])
    assert max(len(batch.starts) for batch in batches) <= sequences
    rows = [row.tolist() for batch in batches for row in batch.tokens]
    seen = rows[0] + [token for row in rows[1:] for token in row[num_shared:]]
    assert seen == list(range(store.num_tokens))
    for row, following in pairwise(rows):
        assert following[:num_shared] == row[len(row) - num_shared :]


def test_a_row_that_only_repeats_is_left_out(counting_store):
    store = counting_store([9])
    (batch,) = rows_in_order(store, 9, 2, num_shared=1)
    assert batch.tokens.tolist() == [list(range(9))]
