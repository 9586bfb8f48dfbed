"""The next piece: each asked for once, each document on its own behind a start."""

import numpy as np
import pytest
import torch

from headstart.objectives.batch import PIECES, to_batch
from headstart.objectives.objective import StepRows
from headstart.tokenizers.pieces import END_ID, START_ID


def all_rows(toy, store, length, sequences):
    step = StepRows(length=length, sequences=sequences, seed=0)
    return list(toy.objective("causal").held_out_rows(store, step))


def document_numbers(store) -> np.ndarray:
    """The number of each token's document, in the whole store."""
    lengths = np.diff(store.document_starts)
    return np.repeat(np.arange(len(lengths)), lengths)


@pytest.mark.parametrize("length", [1, 7, 48, 10_000])
@pytest.mark.parametrize("sequences", [1, 3])
def test_every_piece_but_the_very_first_is_asked_for_once_in_order(toy, length, sequences):
    store = toy.store(toy.documents(9))
    rows = all_rows(toy, store, length, sequences)
    asked = np.concatenate([row.targets.ravel() for row in rows])
    assert asked.tolist() == store.tokens(1, store.num_tokens).tolist()


def test_each_document_ends_with_an_end_that_is_asked_for_and_never_read(toy):
    store = toy.store(toy.documents(12))
    rows = all_rows(toy, store, 20, 2)
    assert sum((row.targets == END_ID).sum() for row in rows) == 12
    assert not any((row.tokens == END_ID).any() for row in rows)


def test_the_first_piece_of_a_document_is_asked_for_behind_a_start(toy):
    store = toy.store(toy.documents(12))
    place, firsts = 1, set(store.document_starts[1:-1].tolist())
    for row in all_rows(toy, store, 20, 1):
        for read in row.tokens.ravel().tolist():
            assert (read == START_ID) == (place in firsts)
            place += 1


def test_a_start_belongs_to_the_document_that_it_starts(toy):
    store = toy.store(toy.documents(12))
    numbers = document_numbers(store)
    for row in all_rows(toy, store, 20, 3):
        is_first = np.diff(row.documents, axis=1, prepend=-1) != 0
        assert (row.tokens[:, 1:] == START_ID)[is_first[:, 1:]].all()
        assert not (row.tokens[:, 1:] == START_ID)[~is_first[:, 1:]].any()
    whole = all_rows(toy, store, store.num_tokens - 1, 1)[0]
    assert whole.documents[0].tolist() == numbers[1:].tolist()


@torch.no_grad()
def test_nothing_of_an_earlier_document_is_seen(toy):
    store = toy.store(toy.documents(5))
    rows = all_rows(toy, store, store.num_tokens - 1, 1)[0]
    model = toy.model("causal")
    before = model.trunk(to_batch(rows, "cpu").text)
    for number in range(1, 5):
        is_earlier = (rows.documents < number) & (rows.tokens != START_ID)
        drawn = np.random.default_rng(number).integers(10, 200, rows.tokens.shape)
        rows.tokens[is_earlier] = drawn[is_earlier]
        after = model.trunk(to_batch(rows, "cpu").text)
        is_same = torch.from_numpy(rows.documents >= number)
        torch.testing.assert_close(after[is_same], before[is_same], atol=1e-6, rtol=1e-5)
        assert not torch.allclose(after[~is_same], before[~is_same], atol=1e-2)


@torch.no_grad()
def test_a_piece_is_predicted_without_what_comes_after_it(toy):
    store = toy.store(toy.documents(3))
    rows = all_rows(toy, store, 30, 1)[0]
    model = toy.model("causal")
    before = model.trunk(to_batch(rows, "cpu").text)
    rows.tokens[:, 20:] = 17
    after = model.trunk(to_batch(rows, "cpu").text)
    torch.testing.assert_close(after[:, :20], before[:, :20], atol=1e-6, rtol=1e-5)


def test_training_asks_for_every_piece_of_a_row(toy):
    store = toy.store(toy.documents(60))
    stream = toy.objective("causal").training_rows(store, StepRows(length=32, sequences=4, seed=1))
    for step in range(2 * stream.steps_per_epoch):
        rows = stream.at(step)
        assert rows.targets.shape == rows.tokens.shape == (4, 32)
        batch = to_batch(rows, "cpu")
        assert batch.counts == {PIECES: 4 * 32}
        # What is asked for is what is read one place on, but for ends and the starts behind them.
        read, asked = rows.tokens[:, 1:], rows.targets[:, :-1]
        assert (np.where(asked == END_ID, START_ID, asked) == read).all()


def test_a_row_is_named_by_where_it_stands_in_the_text(toy):
    store = toy.store(toy.documents(60))
    stream = toy.objective("causal").training_rows(store, StepRows(length=32, sequences=4, seed=1))
    rows = stream.at(0)
    for name, asked in zip(rows.names, rows.targets, strict=True):
        start, stop = (int(n.replace(",", "")) for n in name.removeprefix("tokens ").split(" to "))
        assert store.tokens(start + 1, stop + 1).tolist() == asked.tolist()
