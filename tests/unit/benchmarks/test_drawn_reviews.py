"""Drawn reviews are as long as they are said to be, and as long as real ones."""

import math

import numpy as np
import pytest
from drawn_reviews import (
    FEWEST,
    LOG_DEVIATION,
    LOG_MEAN,
    NUM_BASIC_PIECES,
    drawn_lengths,
    drawn_rows,
    drawn_texts,
    drawn_tokenizer,
    drawn_words,
)


@pytest.fixture(scope="module")
def words():
    return drawn_words(1_200)


@pytest.fixture(scope="module")
def tokenizer(words):
    return drawn_tokenizer(words, 601)


def test_lengths_are_log_normal():
    lengths = drawn_lengths(20_000, longest=100_000)
    logs = np.log(lengths + 0.5)
    assert logs.mean() == pytest.approx(LOG_MEAN, abs=0.02)
    assert logs.std() == pytest.approx(LOG_DEVIATION, abs=0.02)
    assert np.median(lengths) == pytest.approx(math.exp(LOG_MEAN), rel=0.03)


def test_long_and_short_ones_are_cut():
    lengths = drawn_lengths(2_000, longest=256)
    assert (lengths.min(), lengths.max()) == (FEWEST, 256)


def test_rows_have_their_lengths_and_frequent_pieces():
    lengths = drawn_lengths(200, longest=256)
    rows = drawn_rows(lengths, num_pieces=5_000)
    assert [len(row) for row in rows] == lengths.tolist()
    counts = np.bincount(np.concatenate(rows), minlength=5_000)
    assert counts[:NUM_BASIC_PIECES].sum() == 0
    assert counts.argmax() == NUM_BASIC_PIECES


def test_words_differ(words):
    assert len(set(words)) == len(words) == 1_200


def test_texts_have_exactly_so_many_pieces(words, tokenizer):
    assert tokenizer.size == 601
    lengths = [9, 23, 40, 100]
    texts = drawn_texts(lengths, words, tokenizer)
    assert [len(tokenizer.encode(text)) for text in texts] == lengths
