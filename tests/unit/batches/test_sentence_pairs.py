"""Pairs of sentences: half true, half with a stranger's second, told apart by the store alone."""

import math

import numpy as np
import pytest

from headstart.batches.sentence_pairs import NUM_MARKS, SentencePairs
from headstart.errors import DataError
from headstart.tokenizers.pieces import END_ID

NUM_DEVIATIONS = 5


@pytest.fixture
def store(toy):
    return toy.store(toy.documents(80))


def all_pairs(pairs: SentencePairs, epoch: int = 0):
    return pairs.in_epoch(np.arange(len(pairs.anchors)), epoch)


def starts_of(store, stretch) -> list[int]:
    """Every place of the store at which a stretch of pieces stands."""
    tokens = store.tokens(0, store.num_tokens)
    windows = np.lib.stride_tricks.sliding_window_view(tokens, len(stretch))
    return np.flatnonzero((windows == stretch).all(axis=1)).tolist()


def document_at(store, place: int) -> int:
    return int(np.searchsorted(store.document_starts, place, side="right")) - 1


def test_every_sentence_that_another_follows_is_once_the_last_of_a_first_half(store):
    pairs = SentencePairs(store, 10_000, seed=0)
    ends = sorted(pair.start + len(pair.first) for pair in all_pairs(pairs))
    inner = set(store.sentence_starts[:-1].tolist()) - set(store.document_starts.tolist())
    assert ends == sorted(inner)


@pytest.mark.parametrize("length", [5, 9, 24, 64, 10_000])
def test_a_true_second_half_is_what_follows_in_the_document(store, length):
    for pair in all_pairs(SentencePairs(store, length, seed=1)):
        if pair.does_follow:
            joined = np.concatenate([pair.first, pair.second])
            places = starts_of(store, joined)
            assert places, "the two halves do not stand side by side"
            turns = {place + len(pair.first) for place in places}
            assert turns & set(store.sentence_starts.tolist())


def test_a_strangers_second_half_begins_a_sentence_of_another_document(store):
    for pair in all_pairs(SentencePairs(store, 64, seed=1)):
        if not pair.does_follow:
            begins = set(starts_of(store, pair.second)) & set(store.sentence_starts.tolist())
            documents = {document_at(store, place) for place in begins}
            assert documents - {document_at(store, pair.start)}


def test_strangers_are_never_of_the_same_document_and_any_other_is_as_likely(store):
    pairs = SentencePairs(store, 64, seed=1)
    documents = pairs.document_of[pairs.anchors]
    generator = np.random.default_rng(0)
    num_drawn = 20_000
    draws = generator.integers(2**63, size=num_drawn, dtype=np.uint64)
    for anchor in (pairs.anchors[0], pairs.anchors[len(pairs.anchors) // 2], pairs.anchors[-1]):
        drawn = pairs.strangers(np.full(num_drawn, anchor), draws)
        assert np.isin(drawn, pairs.anchors).all()
        own = pairs.document_of[anchor]
        assert not (pairs.document_of[drawn] == own).any()
        counts = np.bincount(drawn, minlength=pairs.anchors[-1] + 1)[pairs.anchors]
        counts = counts[documents != own]
        mean = num_drawn / len(counts)
        assert np.abs(counts - mean).max() < NUM_DEVIATIONS * math.sqrt(mean)


def test_a_stranger_is_found_beside_a_document_that_is_nearly_everything(toy):
    book = " ".join(toy.documents(2_000, seed=1))
    pairs = SentencePairs(toy.store([book, *toy.documents(1, seed=2)]), 32, seed=0)

    draws = np.arange(100, dtype=np.uint64)
    strangers = pairs.strangers(np.full(len(draws), pairs.anchors[0]), draws)
    assert (pairs.document_of[strangers] == 1).all()


def test_half_of_the_pairs_are_true(toy):
    pairs = SentencePairs(toy.store(toy.documents(1_000)), 64, seed=1)
    rows = [pair.does_follow for pair in all_pairs(pairs)]
    deviation = 0.5 / math.sqrt(len(rows))
    assert len(rows) > 2_000
    assert abs(np.mean(rows) - 0.5) < NUM_DEVIATIONS * deviation


@pytest.mark.parametrize("length", [5, 6, 7, 12, 33])
def test_a_pair_fits_its_length_with_a_piece_on_each_side_and_no_end(store, length):
    for pair in all_pairs(SentencePairs(store, length, seed=1)):
        assert len(pair.first) > 0
        assert len(pair.second) > 0
        assert pair.length == len(pair.first) + len(pair.second) + NUM_MARKS <= length
        assert len(pair.first) <= (length - NUM_MARKS) // 2
        stretch = store.tokens(pair.start, pair.start + len(pair.first))
        assert stretch.tolist() == pair.first.tolist()
        assert END_ID not in pair.first
        assert END_ID not in pair.second


@pytest.mark.parametrize("length", [1, 3, 4])
def test_a_length_without_room_for_two_sentences_is_refused(store, length):
    with pytest.raises(DataError, match="at least 5"):
        SentencePairs(store, length, seed=0)


def test_the_same_sentence_has_another_partner_in_another_epoch(store):
    pairs = SentencePairs(store, 64, seed=1)
    numbers = np.arange(len(pairs.anchors))
    first, second = (
        [pair.does_follow for pair in pairs.chosen(numbers, epoch)] for epoch in (0, 1)
    )
    num_equal = sum(one == other for one, other in zip(first, second, strict=True))
    deviation = 0.5 * math.sqrt(len(first))
    assert abs(num_equal - len(first) / 2) < NUM_DEVIATIONS * deviation


def test_any_pair_is_the_same_whenever_it_is_asked_for(store):
    pairs = SentencePairs(store, 32, seed=3)
    walked = all_pairs(pairs, epoch=2)
    again = SentencePairs(store, 32, seed=3)
    for number in (len(walked) - 1, 0, 17):
        (one,) = again.in_epoch(np.array([number]), 2)
        assert one.first.tolist() == walked[number].first.tolist()
        assert one.second.tolist() == walked[number].second.tolist()
        assert one.does_follow == walked[number].does_follow


def test_text_of_single_sentences_is_answered_in_a_sentence(toy):
    store = toy.store(toy.documents(30, sentences=(1, 1)))
    with pytest.raises(DataError) as caught:
        SentencePairs(store, 64, seed=0)
    assert "None of the 30 documents has two sentences" in str(caught.value)
    assert "--documents" in str(caught.value)


def test_one_document_of_two_sentences_is_not_enough(toy):
    single = toy.documents(30, sentences=(1, 1))
    store = toy.store([*single, *toy.documents(1, sentences=(3, 3))])
    with pytest.raises(DataError, match="Only one document has two sentences"):
        SentencePairs(store, 64, seed=0)
