"""Copies of items in a corpus are found in one pass, exact ones and near ones."""

import random
import time
import weakref
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.corpora.leaks import corpus_near_copies
from headstart.corpora.leaks.corpus_copies import CorpusCopyFinder
from headstart.corpora.leaks.corpus_near_copies import (
    LEAST_CONTAINMENT,
    NUM_ITEM_LENGTHS,
    NUM_LEAST_SHARED,
    CorpusNearCopyFinder,
)
from headstart.corpora.leaks.normalisation import normalised, words
from headstart.corpora.leaks.prepared import prepare
from headstart.corpora.places import Place

# Pieces of one text, and documents of such pieces: an item may stand in them whole or in parts,
# close together or far apart.
PIECE = st.tuples(st.integers(0, 20), st.integers(0, 20)).map(
    lambda ends: " ".join(f"w{number}" for number in range(min(ends), max(ends)))
)
TEXT = st.lists(st.sampled_from("aabcde"), max_size=16).map(" ".join) | PIECE
NOISE = st.integers(1, 30).map(lambda num_words: "x " * num_words)
CORPUS = st.lists(TEXT | st.lists(PIECE | NOISE, max_size=8).map(" ".join), max_size=8)


@pytest.fixture(scope="module")
def found(examples):
    def find(finder, corpus, **splits):
        finder = finder(
            prepare({name: examples(texts, name=name) for name, texts in splits.items()})
        )
        for line, text in enumerate(corpus, start=1):
            finder.see(Place(Path("corpus"), line), words(text))
        return {copies.split: copies for copies in finder.found()}

    return find


def shingles_of(text):
    found = words(text)
    return list(zip(found, found[1:], found[2:], strict=False))


def containment(document, item):
    """Returns the largest share of an item in any stretch of a document, or 0 if that is little."""
    wanted, document = set(shingles_of(item)), shingles_of(document)
    length = NUM_ITEM_LENGTHS * len(wanted)
    starts = range(max(len(document) - length, 0) + 1)
    num_shared = max(len(wanted & set(document[start : start + length])) for start in starts)
    if num_shared < NUM_LEAST_SHARED or num_shared < LEAST_CONTAINMENT * len(wanted):
        return 0.0
    return num_shared / len(wanted)


@settings(deadline=None)
@given(train=st.lists(TEXT, max_size=6), corpus=CORPUS)
def test_exact_copies_are_those_of_a_loop(found, train, corpus):
    copies = found(CorpusCopyFinder, corpus, train=train)["train"]
    expected = {}
    for index, text in enumerate(train):
        lines = [line for line, other in enumerate(corpus, 1) if words(other) == words(text)]
        if words(text) and lines:
            expected[index] = (len(lines), lines[0])
    seen = {copy.item.index: (copy.num_documents, copy.first.line) for copy in copies.copies}
    assert seen == expected
    assert copies.num_items == len(expected)


@settings(deadline=None)
@given(train=st.lists(TEXT, max_size=6), test=st.lists(TEXT, max_size=6), corpus=CORPUS)
def test_near_copies_are_those_of_a_loop(found, train, test, corpus):
    found = found(CorpusNearCopyFinder, corpus, train=train, test=test)
    for name, texts in (("train", train), ("test", test)):
        expected = {}
        for index, text in enumerate(texts):
            shares = {
                line: containment(document, text)
                for line, document in enumerate(corpus, 1)
                if normalised(document) != normalised(text)
            }
            shares = {line: share for line, share in shares.items() if share}
            if shares:
                best = max(shares.values())
                first = min(line for line, share in shares.items() if share == best)
                expected[index] = (best, len(shares), first)
        assert {
            copy.item.index: (copy.similarity, copy.num_documents, copy.best.line)
            for copy in found[name].copies
        } == expected
        assert found[name].indices == expected.keys()


@settings(deadline=None, max_examples=25)
@given(train=st.lists(TEXT, max_size=6), corpus=CORPUS)
def test_small_batches_find_what_large_ones_find(found, train, corpus):
    at_once = found(CorpusNearCopyFinder, corpus, train=train)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_near_copies, "NUM_BATCH_WORDS", 5)
        assert found(CorpusNearCopyFinder, corpus, train=train) == at_once


def test_of_equally_good_documents_the_first_is_named(found, random_text):
    text = random_text(random.Random(0), 40)
    (copy,) = found(CorpusNearCopyFinder, [f"a {text}", f"b {text}"], test=[text])["test"].copies
    assert (copy.num_documents, copy.best.line) == (2, 1)


def test_an_item_inside_a_long_document_is_found_where_it_stands_together(found, random_text):
    generator = random.Random(0)
    item = random_text(generator, 40)
    before, after = random_text(generator, 3_000), random_text(generator, 3_000)
    pieces = item.split()
    spread = " ".join(
        f"{' '.join(pieces[at : at + 5])} {random_text(generator, 200)}" for at in range(0, 40, 5)
    )
    corpus = [before, f"{before} {item} {after}", spread]
    copies = found(CorpusNearCopyFinder, corpus, test=[item])["test"].copies
    assert [(copy.similarity, copy.num_documents, copy.best.line) for copy in copies] == [(1, 1, 2)]


def test_the_two_halves_of_an_item_far_apart_are_no_near_copy(found):
    pieces = [f"w{number}" for number in range(20)]
    halves = [" ".join(pieces[:10]), " ".join(pieces[10:])]
    apart = f"{halves[0]} {'x ' * 38} {halves[1]}"
    close = f"{halves[0]} x {halves[1]}"
    item = " ".join(pieces)
    assert found(CorpusNearCopyFinder, [apart], test=[item])["test"].num_items == 0
    assert found(CorpusNearCopyFinder, [close], test=[item])["test"].num_items == 1


def test_the_splits_share_one_index_and_each_gets_its_own_record(found, random_text):
    text = random_text(random.Random(0), 40)
    found = found(CorpusNearCopyFinder, [f"{text} end"], train=["x", text], test=[text, text])
    assert found["train"].indices == {1}
    assert found["test"].indices == {0, 1}


def test_a_corpus_of_one_line_many_times_costs_little(found, random_text):
    text = random_text(random.Random(0), 20)
    started_at = time.perf_counter()
    corpus = [f"{text} end"] * 20_000 + [text] * 20_000
    near = found(CorpusNearCopyFinder, corpus, test=[text] * 1_000)["test"]
    exact = found(CorpusCopyFinder, corpus, test=[text] * 1_000)["test"]
    assert time.perf_counter() - started_at < 10
    assert near.num_items == exact.num_items == 1_000
    assert near.copies[0].num_documents == exact.copies[0].num_documents == 20_000


def test_nothing_is_found_in_no_corpus_or_for_no_items(found):
    for finder in (CorpusCopyFinder, CorpusNearCopyFinder):
        assert found(finder, ["a b c d e f g h i j"], test=[])["test"].num_items == 0
        assert found(finder, [], test=["a b c d e f g h i j"])["test"].num_items == 0
        assert found(finder, ["", "?", "a"], test=["", "?"])["test"].num_items == 0
        assert found(finder, ["a"]) == {}


class WatchedWords(list):
    """A list that can be asked whether anybody still holds it."""

    __slots__ = ("__weakref__",)
    __hash__ = object.__hash__


@pytest.mark.parametrize("num_words", [0, 2, 50])
def test_a_corpus_is_not_held(examples, random_text, num_words):
    held = weakref.WeakSet()
    finder = CorpusNearCopyFinder(prepare({"test": examples([random_text(random.Random(0), 20)])}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_near_copies, "NUM_BATCH_WORDS", 1_000)
        for line in range(1_000):
            text = WatchedWords(["word"] * num_words)
            held.add(text)
            finder.see(Place(Path("corpus"), line), text)
            assert len(held) <= 25
