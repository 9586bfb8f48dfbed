"""Texts that have more than one label are found, inside a split and across splits."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.corpora.leaks.conflicts import find_conflicts
from headstart.corpora.leaks.prepared import prepare

ROWS = st.lists(st.tuples(st.sampled_from(["a", "A.", "b", "?"]), st.sampled_from("01")))


@pytest.fixture(scope="module")
def found(examples):
    def find(**splits):
        splits = {
            name: examples([text for text, _ in rows], [label for _, label in rows], name)
            for name, rows in splits.items()
        }
        return find_conflicts(splits, prepare(splits))

    return find


@settings(deadline=None)
@given(train=ROWS, test=ROWS)
def test_conflicts_are_those_of_a_loop(found, train, test):
    found = found(train=train, test=test)
    num_inside, num_across, num_texts, num_items = {"train": 0, "test": 0}, 0, 0, 0
    for word in "ab":
        labels = {
            name: [label for text, label in rows if text.lower().strip(".") == word]
            for name, rows in (("train", train), ("test", test))
        }
        for name in labels:
            num_inside[name] += len(set(labels[name])) > 1
        num_across += any(one != other for one in labels["train"] for other in labels["test"])
        both = labels["train"] + labels["test"]
        num_texts += len(set(both)) > 1
        num_items += len(both) if len(set(both)) > 1 else 0
    assert (found.num_texts, found.num_items) == (num_texts, num_items)
    assert found.num_texts_inside == num_inside
    assert found.num_texts_across == num_across


def test_a_conflict_names_the_first_place_of_each_label(found):
    found = found(train=[("Good!", "1"), ("good", "0"), ("good", "0")], test=[("GOOD", "2")])
    (conflict,) = found.conflicts
    assert [(row.num_items, row.label, str(row.first.place)) for row in conflict.labels] == [
        (1, "1", "train, line 1"),
        (2, "0", "train, line 2"),
        (1, "2", "test, line 1"),
    ]
    assert conflict.splits_inside == {"train"}
    assert conflict.is_across


def test_texts_without_words_do_not_contradict_each_other(found):
    assert found(train=[("", "0"), ("?", "1")]).num_texts == 0


def test_a_thousand_labels_of_one_text_are_one_conflict(found):
    found = found(train=[("same", str(label)) for label in range(2_000)])
    assert (found.num_texts, found.num_items) == (1, 2_000)
