"""Rows of hashes hold what a loop over the words would find."""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.corpora.leaks import hashing
from headstart.corpora.leaks.arrays import found_at, rank_in_run, spans
from headstart.corpora.leaks.hashing import WordHashes, fingerprint, mixed, ngrams
from headstart.corpora.leaks.rows import joined, rows_from

WORDS = st.sampled_from("abcde")
TEXTS = st.lists(st.lists(WORDS, max_size=6), max_size=6)


def hash_of(*words):
    return ngrams(WordHashes().rows([words]), len(words)).values[0]


@settings(deadline=None)
@given(texts=TEXTS, num_words=st.integers(1, 4))
def test_ngrams_never_reach_into_the_next_text(texts, num_words):
    rows = ngrams(WordHashes().rows(texts), num_words)
    assert rows.num_rows == len(texts)
    for index, text in enumerate(texts):
        starts = range(len(text) - num_words + 1)
        expected = [hash_of(*text[start : start + num_words]) for start in starts]
        assert rows.row(index).tolist() == expected


@settings(deadline=None)
@given(texts=TEXTS)
def test_distinct_rows_are_sorted_sets(texts):
    rows = WordHashes().rows(texts)
    distinct = rows.distinct()
    assert [distinct.row(index).tolist() for index in range(len(texts))] == [
        sorted(set(rows.row(index).tolist())) for index in range(len(texts))
    ]


@settings(deadline=None)
@given(texts=TEXTS, cut=st.integers(0, 6))
def test_joining_parts_gives_the_whole(texts, cut):
    hashes = WordHashes()
    whole = hashes.rows(texts)
    parts = joined([hashes.rows(texts[:cut]), hashes.rows(texts[cut:])])
    rebuilt = rows_from([whole.row(index) for index in range(len(texts))])
    for other in (parts, rebuilt):
        assert other.values.tolist() == whole.values.tolist()
        assert other.starts.tolist() == whole.starts.tolist()


def test_the_order_of_words_matters():
    assert len({hash_of(*"abc"), hash_of(*"acb"), hash_of(*"cba"), hash_of(*"aab")}) == 4


def test_hashes_are_the_same_in_every_process():
    # By arithmetic on Python's own integers; a sketch written today must be of use in a year.
    assert WordHashes()["word"] == 0x958EC7D727CFA44A
    assert hash_of("nothing", "new", "here") == 0x99D5D957C4B80D7F
    assert fingerprint(["a", "text"]).hex() == "706860d9e8c7ee1c65261bc1e5b75631"


def test_small_hashes_are_a_fair_sample():
    hashes = mixed(np.arange(200_000, dtype=np.uint64))
    for share in (0.5, 0.1, 0.01):
        num_expected = share * len(hashes)
        num_small = np.count_nonzero(hashes < np.uint64(share * 2**64))
        assert abs(num_small - num_expected) < 5 * num_expected**0.5


def test_the_memory_of_words_is_bounded(monkeypatch):
    monkeypatch.setattr(hashing, "NUM_REMEMBERED_WORDS", 10)
    hashes = WordHashes()
    rows = hashes.rows([[f"w{number % 37}" for number in range(500)]])
    assert len(hashes) <= 10
    assert rows.values[:37].tolist() * 2 == rows.values[37 : 37 * 3].tolist()


def test_fingerprints_tell_texts_apart_and_leave_out_those_without_words():
    assert fingerprint([]) == b""
    assert fingerprint(["a", "b"]) == fingerprint(("a", "b"))
    assert fingerprint(["ab"]) != fingerprint(["a", "b"])


@settings(deadline=None)
@given(needles=st.lists(st.integers(0, 20)), haystack=st.sets(st.integers(0, 20)))
def test_needles_are_found_where_they_are(needles, haystack):
    ordered = sorted(haystack)
    positions = found_at(np.array(needles, np.int64), np.array(ordered, np.int64))
    assert positions.tolist() == [
        ordered.index(needle) if needle in haystack else -1 for needle in needles
    ]


@settings(deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5))))
def test_spans_count_on_from_each_start(rows):
    starts, sizes = (np.array([row[side] for row in rows], np.int64) for side in (0, 1))
    expected = [start + step for start, size in rows for step in range(size)]
    assert spans(starts, sizes).tolist() == expected


def test_ranks_count_equal_neighbours():
    generator = random.Random(0)
    values = sorted(generator.randrange(5) for _ in range(30))
    expected = [position - values.index(value) for position, value in enumerate(values)]
    assert rank_in_run(np.array(values)).tolist() == expected
    assert rank_in_run(np.zeros(0, np.int64)).tolist() == []
