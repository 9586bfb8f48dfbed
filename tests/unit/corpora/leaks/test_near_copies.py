"""Near copies are those that a loop over all pairs finds, at a cost that stays linear."""

import itertools
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.corpora.leaks import near_copies as near_copies_file
from headstart.corpora.leaks import shingle_index
from headstart.corpora.leaks.near_copies import (
    LEAST_SIMILARITY,
    NUM_LEAST_SHARED,
    near_copies,
)
from headstart.corpora.leaks.normalisation import normalised, words
from headstart.corpora.leaks.prepared import prepare

# Of so few words that texts often share some 3-grams and seldom all; and pieces of one text, which
# share any part of theirs, such as a third to the last one.
PIECES = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(
    lambda ends: " ".join(f"w{number}" for number in range(min(ends), max(ends)))
)
TEXT = st.lists(st.sampled_from("aabcd"), max_size=14).map(" ".join) | PIECES
TEXTS = st.lists(TEXT, max_size=10)


@pytest.fixture(scope="module")
def found(examples):
    def find(**splits):
        prepared = prepare({name: examples(texts, name=name) for name, texts in splits.items()})
        return {(near.split, near.source): near for near in near_copies(prepared)}

    return find


def shingles_of(text):
    found = words(text)
    return set(zip(found, found[1:], found[2:], strict=False))


def similarity(one, other):
    """Returns the Jaccard index of two texts that share enough, else 0."""
    shared = shingles_of(one) & shingles_of(other)
    if len(shared) < NUM_LEAST_SHARED:
        return 0.0
    return len(shared) / len(shingles_of(one) | shingles_of(other))


def firsts(texts):
    seen = set()
    for index, text in enumerate(texts):
        if normalised(text) not in seen:
            seen.add(normalised(text))
            yield index


def pairs_by_a_loop(split, source, is_inside):
    """Returns the similarity of every pair of near copies, computed without any index."""
    askers = list(firsts(split)) if is_inside else range(len(split))
    pairs = {
        (index, of): similarity(split[index], source[of])
        for index, of in itertools.product(askers, firsts(source))
        if not (is_inside and of >= index) and normalised(split[index]) != normalised(source[of])
    }
    return {pair: value for pair, value in pairs.items() if value >= LEAST_SIMILARITY}


def pairs_of(near):
    return {(pair.item.index, pair.of.index): pair.similarity for pair in near.pairs}


@settings(deadline=None)
@given(train=TEXTS, test=TEXTS)
def test_the_pairs_are_those_of_a_loop_over_all_pairs(found, train, test):
    found = found(train=train, test=test)
    assert pairs_of(found["train", "train"]) == pairs_by_a_loop(train, train, is_inside=True)
    assert pairs_of(found["test", "test"]) == pairs_by_a_loop(test, test, is_inside=True)
    assert pairs_of(found["test", "train"]) == pairs_by_a_loop(test, train, is_inside=False)


@settings(deadline=None)
@given(train=TEXTS, num_rare=st.integers(0, 3), num_linked=st.integers(1, 2))
def test_with_frequent_shingles_only_mostly_frequent_items_lose_pairs(
    found, train, num_rare, num_linked
):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shingle_index, "NUM_RARE", num_rare)
        patch.setattr(shingle_index, "NUM_LINKED", num_linked)
        seen = pairs_of(found(train=train)["train", "train"])
    expected = pairs_by_a_loop(train, train, is_inside=True)
    assert seen.items() <= expected.items()
    num_with = {}
    for index in firsts(train):
        for shingle in shingles_of(train[index]):
            num_with[shingle] = num_with.get(shingle, 0) + 1
    for _, of in expected.keys() - seen.keys():
        shingles = shingles_of(train[of])
        num_frequent = sum(num_with[shingle] > num_rare for shingle in shingles)
        assert num_frequent >= LEAST_SIMILARITY * len(shingles)


@settings(deadline=None, max_examples=25)
@given(train=TEXTS, test=TEXTS)
def test_small_steps_find_what_large_ones_find(found, train, test):
    at_once = found(train=train, test=test)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shingle_index, "NUM_LINKS_AT_ONCE", 3)
        assert found(train=train, test=test) == at_once


@pytest.mark.parametrize("num_words", [30, 31, 35, 50, 100])
def test_planted_copies_with_a_tenth_changed_are_found_and_nothing_else(
    found, random_text, changed, num_words
):
    generator = random.Random(num_words)
    train = [random_text(generator, num_words) for _ in range(1_000)]
    originals = generator.sample(range(1_000), 100)
    # Rounded up, the worst that "a tenth" can mean.
    num_changed = -(-num_words // 10)
    test = [changed(generator, train[at], num_changed) for at in originals]
    found = found(train=train, test=test)
    assert pairs_of(found["test", "train"]).keys() == set(enumerate(originals))
    assert found["test", "train"].num_items == 100
    assert found["train", "train"].pairs == ()


def test_exact_copies_are_not_repeated_but_texts_with_the_same_shingles_are(found):
    text = "one two three four five six seven eight nine ten"
    repeated = f"{text} {text}"
    found = found(train=[text, f"{text}!"], test=[text.upper(), repeated])
    assert found["train", "train"].pairs == ()
    assert pairs_of(found["test", "train"]).keys() == {(1, 0)}
    assert found["test", "train"].indices == {1}


@pytest.mark.parametrize("text", ["", "a", "a b", "a b c", "a b c d e"])
def test_texts_too_short_for_four_shared_shingles_are_left_to_exact_copies(found, text):
    found = found(train=[text, f"{text} x", f"x {text}"], test=[f"{text} y"])
    assert not any(near.pairs for near in found.values())


def test_every_near_copy_across_splits_is_listed_though_they_repeat_each_other(found, random_text):
    text = random_text(random.Random(0), 40)
    found = found(train=[text, text], test=[f"{text} more"] * 3)
    assert pairs_of(found["test", "train"]).keys() == {(0, 0), (1, 0), (2, 0)}


def test_thousands_of_instances_of_a_template_cost_little_and_none_is_missed(found, random_text):
    generator = random.Random(0)
    text = random_text(generator, 50)
    train = [f"{text} number {index} {text} and {index}" for index in range(3_000)]
    started_at = time.perf_counter()
    near = found(train=train)["train", "train"]
    assert time.perf_counter() - started_at < 10
    assert near.indices == set(range(1, 3_000))
    assert len(near.pairs) <= shingle_index.NUM_LINKED * len(train)


def test_thousands_of_identical_items_cost_little(found, random_text):
    text = random_text(random.Random(0), 60)
    started_at = time.perf_counter()
    found = found(train=[text] * 5_000, test=[f"{text} end"] * 500)
    assert time.perf_counter() - started_at < 5
    assert found["train", "train"].pairs == ()
    assert pairs_of(found["test", "train"]).keys() == {(index, 0) for index in range(500)}


def test_a_header_that_all_share_hides_no_near_copy_and_makes_none(found, random_text, changed):
    generator = random.Random(1)
    header = random_text(generator, 20)
    texts = [f"{header} {random_text(generator, 60)}" for _ in range(1_000)]
    texts.append(changed(generator, texts[700], 8))
    assert pairs_of(found(train=texts)["train", "train"]).keys() == {(1_000, 700)}


def test_of_many_near_copies_the_most_similar_are_listed(found, random_text, changed):
    generator = random.Random(2)
    text = random_text(generator, 200)
    train = [changed(generator, text, num_changed) for num_changed in range(1, 41)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_copies_file, "NUM_MOST_SIMILAR", 3)
        pairs = found(train=train, test=[text])["test", "train"].pairs
    assert len(pairs) == 3
    best = sorted((similarity(text, other) for other in train), reverse=True)[:3]
    assert [pair.similarity for pair in pairs] == best


def test_a_third_is_enough(found):
    text = [f"w{number}" for number in range(50)]
    # Sets of 12 shingles each, 6 of them shared: 6 / 18.
    one, other, less = text[:14], text[6:20], text[7:21]
    found = found(train=[" ".join(one)], test=[" ".join(other), " ".join(less)])
    assert pairs_of(found["test", "train"]) == {(0, 0): 1 / 3}


def test_no_items_have_no_near_copies(found):
    assert found() == {}
    assert found(train=[], test=["a b c d e f g"])["test", "train"].pairs == ()
