"""BERT's two objectives: pairs in the right places, side by side and yet each on its own."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from headstart.batches.sentence_pairs import SentencePair, SentencePairs
from headstart.errors import DataError
from headstart.objectives.answers import next_logits
from headstart.objectives.batch import NEXT, NOTHING, PIECES, Rows, to_batch
from headstart.objectives.masked_and_next import DOES_NOT, FOLLOWS, best_fit
from headstart.objectives.objective import StepRows
from headstart.tokenizers.pieces import FIRST, MASK, PADDING_ID, SEPARATOR

NAME = "masked+next"
STEP = StepRows(length=48, sequences=4, seed=1)


def toy_pairs(toy, count: int = 12, length: int = 48) -> list[SentencePair]:
    pairs = SentencePairs(toy.store(toy.documents(40)), length, seed=1)
    # In the order in which they are packed.
    return sorted(pairs.in_epoch(np.arange(count), 0), key=lambda pair: -pair.length)


def unhidden(rows: Rows) -> np.ndarray:
    return np.where(rows.targets != NOTHING, rows.targets, rows.tokens)


def test_a_pair_stands_between_its_marks_in_two_segments(toy):
    pairs = toy_pairs(toy)
    rows = toy.objective(NAME).packed(pairs, 48)
    first, separator = (toy.tokenizer.id_of[piece] for piece in (FIRST, SEPARATOR))
    for number, pair in enumerate(pairs):
        is_own = rows.documents == number
        pieces = [first, *pair.first, separator, *pair.second, separator]
        assert rows.tokens[is_own].tolist() == pieces
        segments = [0] * (len(pair.first) + 2) + [1] * (len(pair.second) + 1)
        assert rows.segments[is_own].tolist() == segments
        follows = [FOLLOWS if pair.does_follow else DOES_NOT] + [NOTHING] * (len(pieces) - 1)
        assert rows.follows[is_own].tolist() == follows
        row_places = np.flatnonzero(is_own.any(axis=1))
        assert len(row_places) == 1
        assert (np.diff(np.flatnonzero(is_own[row_places[0]])) == 1).all()


def test_all_that_is_no_pair_is_padding(toy):
    rows = toy.objective(NAME).packed(toy_pairs(toy), 48)
    assert (rows.is_token == (rows.documents != NOTHING)).all()
    assert (rows.tokens[~rows.is_token] == PADDING_ID).all()
    assert not (rows.tokens[rows.is_token] == PADDING_ID).any()


def test_follows_is_the_first_class_as_in_bert():
    assert (FOLLOWS, DOES_NOT) == (0, 1)


@pytest.mark.parametrize("seed", range(5))
def test_best_fit_puts_each_length_where_it_leaves_least_room(seed):
    lengths = np.random.default_rng(seed).integers(1, 21, 60).tolist()
    places, num_rows = best_fit(lengths, 20)
    taken = np.zeros((num_rows, 20), dtype=int)
    num_begun = 0
    for length, (row, start) in zip(lengths, places, strict=True):
        rooms = 20 - taken[:num_begun].sum(axis=1)
        if (fitting := rooms[rooms >= length]).size:
            assert rooms[row] == fitting.min()
        else:
            assert row == num_begun
            num_begun += 1
        taken[row, start : start + length] += 1
    assert taken.max() == 1
    assert num_begun == num_rows


def test_marks_and_padding_are_never_hidden_nor_put_in_a_pieces_place(toy):
    objective = toy.objective(NAME, share=0.5)
    store = toy.store(toy.documents(200))
    stream = objective.training_rows(store, STEP)
    special = [toy.tokenizer.id_of[piece] for piece in (FIRST, SEPARATOR)] + [PADDING_ID]
    for step in range(stream.steps_per_epoch):
        rows = stream.at(step)
        is_asked = rows.targets != NOTHING
        assert not np.isin(rows.targets[is_asked], special).any()
        assert not np.isin(rows.tokens[is_asked], special).any()
        assert not np.isin(toy.tokenizer.id_of[MASK], rows.tokens[~is_asked])


def test_the_share_is_of_pieces_and_padding_is_none(toy):
    objective = toy.objective(NAME)
    for count in (1, 2, 7, 12):
        rows = objective.hidden(objective.packed(toy_pairs(toy, count), 48), 1, ("train", 0))
        num_pieces = int(rows.is_token.sum())
        assert (rows.targets != NOTHING).sum() == round(0.15 * num_pieces)


def test_held_out_text_is_hidden_by_the_same_share_to_its_last_pair(toy):
    store = toy.store(toy.documents(30))
    for rows in toy.objective(NAME).held_out_rows(store, STEP):
        share = (rows.targets != NOTHING).sum() / rows.is_token.sum()
        assert abs(share - 0.15) < 0.5 / rows.is_token.sum() + 1e-9


def test_held_out_text_has_every_pair_once(toy):
    store = toy.store(toy.documents(30))
    rows = list(toy.objective(NAME).held_out_rows(store, STEP))
    num_pairs = sum((row.follows != NOTHING).sum() for row in rows)
    assert num_pairs == len(SentencePairs(store, STEP.length, STEP.seed).anchors)
    again = toy.objective(NAME).held_out_rows(store, STEP)
    for row, other in zip(rows, again, strict=True):
        assert row.tokens.tolist() == other.tokens.tolist()
        assert row.follows.tolist() == other.follows.tolist()


def test_half_of_the_answers_is_yes(toy):
    stream = toy.objective(NAME).training_rows(toy.store(toy.documents(400)), STEP)
    follows = np.concatenate([stream.at(n).follows.ravel() for n in range(stream.steps_per_epoch)])
    answers = follows[follows != NOTHING]
    assert set(answers.tolist()) == {FOLLOWS, DOES_NOT}
    assert abs(answers.mean() - 0.5) < 5 * 0.5 / math.sqrt(len(answers))


def test_an_epoch_has_every_pair_at_most_once_and_as_many_in_every_step(toy):
    store = toy.store(toy.documents(200))
    stream = toy.objective(NAME).training_rows(store, STEP)
    num_anchors = len(SentencePairs(store, STEP.length, STEP.seed).anchors)
    for epoch in (0, 1):
        first = epoch * stream.steps_per_epoch
        steps = [stream.at(first + n) for n in range(stream.steps_per_epoch)]
        counts = {int((rows.follows != NOTHING).sum()) for rows in steps}
        assert len(counts) == 1
        assert num_anchors - stream.steps_per_epoch * counts.pop() < num_anchors / 2


def test_steps_are_alike_so_that_a_gpu_records_them(toy):
    step = replace(STEP, sequences=64)
    stream = toy.objective(NAME).training_rows(toy.store(toy.documents(400)), step)
    steps = [stream.at(number) for number in range(3 * stream.steps_per_epoch)]
    assert len({int((rows.targets != NOTHING).sum()) for rows in steps}) == 1
    num_rows = {len(rows.tokens) for rows in steps}
    assert len(num_rows) <= 5
    assert all(number % 4 == 0 for number in num_rows)
    hidden = [(rows.targets != NOTHING).sum() / rows.is_token.sum() for rows in steps]
    assert np.mean(hidden) == pytest.approx(0.15, rel=0.1)


def test_a_step_is_about_as_large_as_the_recipe_says(toy):
    stream = toy.objective(NAME).training_rows(toy.store(toy.documents(400)), STEP)
    sizes = [stream.at(n).is_token.sum() for n in range(stream.steps_per_epoch)]
    assert 0.8 < np.mean(sizes) / (STEP.length * STEP.sequences) < 1


@torch.no_grad()
def test_pairs_side_by_side_do_not_see_each_other(toy):
    rows = toy.objective(NAME).packed(toy_pairs(toy), 48)
    model = toy.model(NAME)
    before = model.trunk(to_batch(rows, "cpu").text)
    crowded = int((rows.follows != NOTHING).sum(axis=1).argmax())
    inside = np.unique(rows.documents[crowded][rows.is_token[crowded]])
    assert len(inside) > 1
    for number in inside.tolist():
        tokens = rows.tokens.copy()
        is_own = rows.documents == number
        tokens[is_own] = np.random.default_rng(number).integers(10, 200, int(is_own.sum()))
        changed = Rows(**{**vars(rows), "tokens": tokens})
        after = model.trunk(to_batch(changed, "cpu").text)
        others = torch.from_numpy(rows.is_token & ~is_own)
        torch.testing.assert_close(after[others], before[others], atol=1e-6, rtol=1e-5)
        own = torch.from_numpy(is_own)
        assert not torch.allclose(after[own], before[own], atol=1e-2)


def one_a_row(toy, rows: Rows, pairs) -> Rows:
    """The same pairs with the same pieces hidden, each in a row of its own, as long as it is."""
    longest = max(pair.length for pair in pairs) + 5

    def moved(grid: np.ndarray, filling: int) -> np.ndarray:
        made = np.full((len(pairs), longest), filling, dtype=grid.dtype)
        for number, pair in enumerate(pairs):
            made[number, : pair.length] = grid[rows.documents == number]
        return made

    is_token = moved(rows.is_token.astype(int), 0).astype(bool)
    return Rows(
        tokens=moved(rows.tokens, PADDING_ID),
        documents=np.zeros((len(pairs), longest), dtype=np.int64),
        targets=moved(rows.targets, NOTHING),
        names=tuple(map(str, range(len(pairs)))),
        is_token=is_token,
        segments=moved(rows.segments, 0),
        follows=moved(rows.follows, NOTHING),
    )


@torch.no_grad()
def test_packed_pairs_have_the_losses_of_the_same_pairs_one_a_row(toy):
    objective, model, pairs = toy.objective(NAME), toy.model(NAME), toy_pairs(toy)
    rows = objective.hidden(objective.packed(pairs, 48, stride=30), 1, ("train", 0))
    assert len(rows.tokens) == 30
    alone = one_a_row(toy, rows, pairs)
    packed_batch, alone_batch = to_batch(rows, "cpu"), to_batch(alone, "cpu")
    assert packed_batch.counts == alone_batch.counts
    packed_loss, alone_loss = (objective.loss(model, b) for b in (packed_batch, alone_batch))
    for name in (PIECES, NEXT):
        torch.testing.assert_close(packed_loss[name], alone_loss[name], atol=0, rtol=1e-5)


@torch.no_grad()
def test_each_pair_is_judged_by_the_vector_of_its_first_mark(toy):
    pairs, model = toy_pairs(toy), toy.model(NAME)
    batch = to_batch(toy.objective(NAME).packed(pairs, 48), "cpu")
    hidden_BTD = model.trunk(batch.text)
    logits_P2 = next_logits(model.head.next_sentence, hidden_BTD, batch.first_P)
    first = toy.tokenizer.id_of[FIRST]
    assert (batch.text.tokens_BT.flatten()[batch.first_P] == first).all()
    assert len(batch.first_P) == int((batch.text.tokens_BT == first).sum())
    for logits_2, vector_D in zip(logits_P2, hidden_BTD.flatten(0, 1)[batch.first_P], strict=True):
        head = model.head.next_sentence
        by_hand = head.judge.output(torch.tanh(head.inner(vector_D)))
        torch.testing.assert_close(logits_2, by_hand, atol=1e-6, rtol=1e-5)


def test_too_few_pairs_for_one_step_are_answered_in_a_sentence(toy):
    store = toy.store(toy.documents(3))
    with pytest.raises(DataError, match=r"pairs of sentences, too few for one step of \d+"):
        toy.objective(NAME).training_rows(store, StepRows(length=512, sequences=16, seed=0))


def test_rows_are_named_by_where_their_pairs_begin(toy):
    store = toy.store(toy.documents(60))
    rows = toy.objective(NAME).training_rows(store, STEP).at(0)
    true = unhidden(rows)
    for name, row, documents in zip(rows.names, true, rows.documents, strict=True):
        starts = name.removeprefix("the pairs at tokens ").replace(",", "").split(" and ")
        numbers = list(dict.fromkeys(documents[documents != NOTHING].tolist()))
        assert len(starts) == len(numbers)
        for start, number in zip(starts, numbers, strict=True):
            second_piece = row[np.flatnonzero(documents == number)[1]]
            assert store.tokens(int(start), int(start) + 1).tolist() == [second_piece]
