"""Exact copies are found inside and across splits, each with the first place it copies."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.corpora.leaks.exact_copies import exact_copies
from headstart.corpora.leaks.normalisation import normalised
from headstart.corpora.leaks.prepared import prepare

# Few texts in many forms, so that most are copies of another.
TEXTS = st.lists(st.sampled_from(["a", "A!", "b c", "B,  C", "", "?!", "d"]), max_size=8)


@pytest.fixture(scope="module")
def found(examples):
    def find(**splits):
        prepared = prepare({name: examples(texts, name=name) for name, texts in splits.items()})
        return {(copies.split, copies.source): copies for copies in exact_copies(prepared)}

    return find


@settings(deadline=None)
@given(train=TEXTS, valid=TEXTS, test=TEXTS)
def test_the_copies_are_those_that_a_loop_finds(found, train, valid, test):
    splits = {"train": train, "valid": valid, "test": test}
    found = found(**splits)
    assert list(found) == [
        ("train", "train"),
        ("valid", "train"),
        ("valid", "valid"),
        ("test", "train"),
        ("test", "valid"),
        ("test", "test"),
    ]
    for (split, source), copies in found.items():
        expected = []
        for index, text in enumerate(splits[split]):
            sources = splits[source][:index] if split == source else splits[source]
            same = [of for of, other in enumerate(sources) if normalised(other) == normalised(text)]
            if normalised(text) and same:
                expected.append((index, same[0]))
        assert [(copy.item.index, copy.of.index) for copy in copies.copies] == expected
        assert copies.num_items == len(expected)
        assert copies.indices == {index for index, _ in expected}


def test_a_copy_names_both_places(found):
    copies = found(train=["x", "The Book."], test=["the book"])["test", "train"]
    assert [(str(copy.item.place), str(copy.of.place)) for copy in copies.copies] == [
        ("test, line 1", "train, line 2")
    ]


def test_thousands_of_identical_items_are_listed_once_each(found):
    found = found(train=["the same"] * 3_000, test=["The same!"] * 3_000)
    assert found["train", "train"].num_items == 2_999
    assert found["test", "train"].num_items == 3_000
    assert found["test", "test"].num_items == 2_999
    assert {copy.of.index for copy in found["test", "train"].copies} == {0}


def test_items_without_words_copy_nothing(found):
    assert all(not copies.num_items for copies in found(train=["", "?"], test=["", "…"]).values())


def test_no_splits_and_empty_splits_have_no_copies(found):
    assert found() == {}
    assert found(train=[])["train", "train"].num_items == 0


def test_progress_counts_up_to_all_items(examples):
    calls = []
    prepare({"train": examples(["a b"] * 5), "test": examples(["c"] * 2)}, calls.append)
    assert calls == sorted(calls)
    assert calls[-1] == 7
