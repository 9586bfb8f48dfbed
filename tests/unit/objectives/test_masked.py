"""Hidden pieces: as many as the share says, treated as BERT treats them, drawn anew each epoch."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from headstart.cut_text import WORD_START
from headstart.errors import RecipeError
from headstart.objectives.batch import NOTHING, to_batch
from headstart.objectives.hiding import HidingConfig
from headstart.objectives.objective import StepRows
from headstart.objectives.vocabulary_loss.chunked import summed_loss
from headstart.tokenizers.pieces import BASIC_PIECES, END_ID, MASK, SPECIAL_PIECES

# A binomial count strays this many standard deviations from its mean once in a million times.
NUM_DEVIATIONS = 5


def special_ids(toy) -> list[int]:
    return [toy.tokenizer.id_of[piece] for piece in (*BASIC_PIECES, *SPECIAL_PIECES)]


def draw_grid(toy, shape, seed=0) -> np.ndarray:
    """Pieces of the language with an end now and then, as packed rows have them."""
    generator = np.random.default_rng(seed)
    tokens = generator.integers(len(special_ids(toy)), toy.tokenizer.size, shape)
    return np.where(generator.random(shape) < 0.02, END_ID, tokens)


def words_of(toy, row: np.ndarray) -> list[list[int]]:
    """The places of the pieces of each word of a row, found piece by piece."""
    words: list[list[int]] = []
    is_open = False
    for place, number in enumerate(row.tolist()):
        if number in special_ids(toy):
            is_open = False
            continue
        if is_open and not toy.tokenizer.vocabulary[number].startswith(WORD_START):
            words[-1].append(place)
        else:
            words.append([place])
        is_open = True
    return words


@pytest.mark.parametrize("share", [0.05, 0.15, 0.4])
@pytest.mark.parametrize("shape", [(1, 48), (4, 48), (7, 33)])
def test_exactly_the_share_of_the_positions_is_asked_for(toy, share, shape):
    objective = toy.objective("masked", share=share)
    for seed in range(20):
        _, targets = objective.hide(draw_grid(toy, shape, seed), seed)
        assert (targets != NOTHING).sum() == round(share * shape[0] * shape[1])


def test_of_rows_that_hold_no_text_nothing_is_asked(toy):
    tokens = np.full((2, 8), END_ID)
    read, targets = toy.objective("masked").hide(tokens, seed=0)
    assert (read == tokens).all()
    assert (targets == NOTHING).all()


def test_by_default_the_share_is_fifteen_in_a_hundred(toy):
    _, targets = toy.objective("masked").hide(draw_grid(toy, (10, 100)), seed=0)
    assert (targets != NOTHING).sum() == 150


@pytest.mark.parametrize("hides_words", [False, True])
def test_of_the_chosen_eight_tenths_are_hidden_one_replaced_and_one_kept(toy, hides_words):
    objective = toy.objective("masked", hides_words=hides_words)
    tokens = draw_grid(toy, (200, 200))
    read, targets = objective.hide(tokens, seed=3)
    is_asked = targets != NOTHING
    count = int(is_asked.sum())
    is_hidden = read[is_asked] == toy.tokenizer.id_of[MASK]
    is_kept = read[is_asked] == tokens[is_asked]
    # A drawn piece is by chance the very one that stood there.
    chance = 0.1 / (toy.tokenizer.size - len(special_ids(toy)))
    shares = ((is_hidden, 0.8), (is_kept, 0.1 + chance), (~is_hidden & ~is_kept, 0.1 - chance))
    for seen, expected in shares:
        deviation = math.sqrt(expected * (1 - expected) / count)
        assert abs(seen.mean() - expected) < NUM_DEVIATIONS * deviation


def test_replacements_are_drawn_evenly_from_all_ordinary_pieces(toy):
    objective = toy.objective("masked", share=0.9)
    tokens = draw_grid(toy, (300, 200))
    read, targets = objective.hide(tokens, seed=5)
    is_replaced = (targets != NOTHING) & (read != toy.tokenizer.id_of[MASK]) & (read != tokens)
    counts = np.bincount(read[is_replaced], minlength=toy.tokenizer.size)
    assert not counts[special_ids(toy)].any()
    ordinary = np.delete(counts, special_ids(toy))
    mean = ordinary.mean()
    assert mean > 10
    assert np.abs(ordinary - mean).max() < (NUM_DEVIATIONS + 1) * math.sqrt(mean)


def test_what_is_asked_for_are_the_true_pieces_and_the_rest_is_read_as_it_stood(toy):
    tokens = draw_grid(toy, (20, 60))
    read, targets = toy.objective("masked").hide(tokens, seed=7)
    is_asked = targets != NOTHING
    assert (targets[is_asked] == tokens[is_asked]).all()
    assert (read[~is_asked] == tokens[~is_asked]).all()
    assert not np.isin(targets[is_asked], special_ids(toy)).any()


def test_what_can_be_hidden_is_hidden_where_there_is_less_than_the_share(toy):
    tokens = np.full((1, 20), END_ID)
    tokens[0, 4] = 100
    read, targets = toy.objective("masked", share=0.5).hide(tokens, seed=0)
    assert np.flatnonzero(targets[0] != NOTHING).tolist() == [4]
    assert np.flatnonzero(read[0] != END_ID).tolist() == [4]


def test_a_step_is_the_same_whenever_it_is_asked_for_and_no_other_step(toy):
    store = toy.store(toy.documents(40))
    step = StepRows(length=32, sequences=2, seed=1)
    one, other = (toy.objective("masked").training_rows(store, step) for _ in range(2))
    walked = [one.at(number).tokens.tolist() for number in range(2 * one.steps_per_epoch)]
    for number in reversed(range(len(walked))):
        assert other.at(number).tokens.tolist() == walked[number]


def test_the_same_row_has_other_pieces_hidden_in_every_epoch(toy):
    store = toy.store(toy.documents(40))
    # As many rows as the text has: one step an epoch, always of the same rows.
    step = StepRows(length=store.num_tokens // 2, sequences=2, seed=1)
    stream = toy.objective("masked").training_rows(store, step)
    assert stream.steps_per_epoch == 1
    seen = []
    for epoch in range(4):
        rows = stream.at(epoch)
        order = np.argsort(rows.names)
        seen.append((rows.targets[order] != NOTHING).ravel())
    for one in range(4):
        for other in range(one):
            # Two independent draws of 15 % agree on 15 % of what is chosen.
            assert (seen[one] & seen[other]).sum() < 0.4 * seen[one].sum()


def test_held_out_text_has_the_same_pieces_hidden_each_time_and_all_of_it_is_read(toy):
    store = toy.store(toy.documents(20))
    step = StepRows(length=32, sequences=3, seed=1)
    one, other = (list(toy.objective("masked").held_out_rows(store, step)) for _ in range(2))
    restored = []
    for row, again in zip(one, other, strict=True):
        assert row.tokens.tolist() == again.tokens.tolist()
        restored.extend(np.where(row.targets != NOTHING, row.targets, row.tokens).ravel().tolist())
    assert restored == store.tokens(0, store.num_tokens).tolist()


def test_whole_words_are_hidden_or_left_but_for_the_one_that_fills_the_share(toy):
    store = toy.store(toy.documents(200, seed=4))
    objective = toy.objective("masked", hides_words=True)
    step = StepRows(length=64, sequences=4, seed=1)
    stream = objective.training_rows(store, step)
    num_long = 0
    for number in range(stream.steps_per_epoch):
        rows = stream.at(number)
        is_asked = rows.targets != NOTHING
        assert is_asked.sum() == round(0.15 * is_asked.size)
        true = np.where(is_asked, rows.targets, rows.tokens)
        num_cut = 0
        for row, asked in zip(true, is_asked, strict=True):
            for word in words_of(toy, row):
                num_cut += len(set(asked[word].tolist())) == 2
                num_long += len(word) > 1 and bool(asked[word].all())
        assert num_cut <= 1
    assert num_long > 10


def test_what_is_left_of_a_word_in_the_next_row_has_a_fate_of_its_own(toy):
    vocabulary = toy.tokenizer.vocabulary
    special = set(special_ids(toy))
    start = next(n for n, piece in enumerate(vocabulary) if piece.startswith(WORD_START))
    inner = next(
        n
        for n, piece in enumerate(vocabulary)
        if n not in special and not piece.startswith(WORD_START)
    )
    tokens = np.full((2, 50), start)
    tokens[1, 0] = inner
    objective = toy.objective("masked", share=0.5, hides_words=True)
    asked = [objective.hide(tokens, seed)[1] != NOTHING for seed in range(200)]
    num_different = sum(bool(one[0, -1] != one[1, 0]) for one in asked)
    assert 60 < num_different < 140


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 1.5, math.nan])
def test_a_share_that_hides_nothing_or_everything_is_refused(share):
    with pytest.raises(RecipeError, match="share of hidden pieces"):
        HidingConfig(share=share)


def test_logits_are_asked_for_at_the_hidden_positions_only(toy):
    rows = next(
        toy.objective("masked").held_out_rows(
            toy.store(toy.documents(10)), StepRows(length=40, sequences=2, seed=0)
        )
    )
    batch = to_batch(rows, "cpu")
    answered = batch.answered_M.tolist()
    assert answered == np.flatnonzero(rows.targets != NOTHING).tolist()
    assert batch.target_M.tolist() == rows.targets.ravel()[answered].tolist()

    given = []

    def head_loss(hidden_MD, weight, bias, target_M):
        given.append(hidden_MD)
        return summed_loss(hidden_MD, weight, bias, target_M)

    model = toy.model("masked")
    replace(toy.objective("masked"), head_loss=head_loss).loss(model, batch)
    (hidden_MD,) = given
    assert len(hidden_MD) == len(answered) < rows.tokens.size
    torch.testing.assert_close(hidden_MD, model.trunk(batch.text).flatten(0, 1)[answered])
