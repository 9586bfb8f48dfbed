"""Splits: what belongs together stays together, labels in proportion, the same for a seed."""

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.corpora.examples import Example
from headstart.corpora.places import Place
from headstart.corpora.splitting import USUAL_SHARES, inseparable, split
from headstart.errors import DataError

PATH = Path("examples.csv")
WORDS = [
    "one",
    "One!",
    " one",
    "two",
    "TWO?",
    "three",
    "four",
    "five",
    "six",
    "\u00e9t\u00e9",
    "e\u0301t\u00e9",
]
ITEMS = st.lists(
    st.tuples(
        st.sampled_from(WORDS), st.sampled_from("abc"), st.sampled_from(["g", "h", "i", None])
    ),
    min_size=1,
    max_size=30,
)

IN_ANOTHER_PROCESS = """
from pathlib import Path
from headstart.corpora.examples import Example
from headstart.corpora.places import Place
from headstart.corpora.splitting import USUAL_SHARES, split
examples = [Example(f"text {n}", "ab"[n % 2], Place(Path("x"), n)) for n in range(200)]
for name, part in split(examples, USUAL_SHARES, 5).items():
    print(name, *(example.place.line for example in part))
"""


def made(items) -> list[Example]:
    return [
        Example(text, label, Place(PATH, line), group)
        for line, (text, label, group) in enumerate(items)
    ]


def distinct(labels, groups=None) -> list[Example]:
    groups = groups or [None] * len(labels)
    return made(
        (f"text number {n}", label, group)
        for n, (label, group) in enumerate(zip(labels, groups, strict=True))
    )


def lines(part) -> list[int]:
    return [example.place.line for example in part]


def simplified(text: str) -> str:
    """A normalisation of our own, good enough for the words above."""
    return {"One!": "one", " one": "one", "TWO?": "two", "e\u0301t\u00e9": "\u00e9t\u00e9"}.get(
        text, text
    )


@settings(deadline=None, max_examples=300)
@given(ITEMS, st.integers(0, 5))
def test_every_example_is_in_one_split_and_copies_and_groups_are_never_torn_apart(items, seed):
    examples = made(items)
    try:
        parts = split(examples, USUAL_SHARES, seed)
    except DataError:
        assert len(inseparable(examples)) < len(USUAL_SHARES)
        return
    assert sorted(line for part in parts.values() for line in lines(part)) == list(
        range(len(items))
    )
    side_of = {line: name for name, part in parts.items() for line in lines(part)}
    for one, (text, _, group) in enumerate(items):
        for other, (other_text, _, other_group) in enumerate(items[:one]):
            if simplified(text) == simplified(other_text) or (group and group == other_group):
                assert side_of[one] == side_of[other]


@settings(deadline=None, max_examples=300)
@given(ITEMS)
def test_what_is_inseparable_is_what_a_walk_over_ties_reaches(items):
    units = inseparable(made(items))
    assert sorted(index for unit in units for index in unit) == list(range(len(items)))
    reached = {}
    for start in range(len(items)):
        found, waiting = {start}, [start]
        while waiting:
            text, _, group = items[waiting.pop()]
            tied = {
                other
                for other, (other_text, _, other_group) in enumerate(items)
                if simplified(other_text) == simplified(text) or (group and group == other_group)
            }
            waiting += tied - found
            found |= tied
        reached[start] = found
    for unit in units:
        assert set(unit) == reached[unit[0]]


def test_splits_keep_the_order_of_the_examples():
    parts = split(distinct(["a", "b"] * 50), USUAL_SHARES, 0)
    assert all(lines(part) == sorted(lines(part)) for part in parts.values())


def test_a_seed_gives_one_split_in_any_process():
    examples = distinct(["a", "b"] * 100)
    seen = subprocess.check_output([sys.executable, "-c", IN_ANOTHER_PROCESS], text=True)
    expected = {name: lines(part) for name, part in split(examples, USUAL_SHARES, 5).items()}
    assert {
        row.split()[0]: list(map(int, row.split()[1:])) for row in seen.splitlines()
    } == expected


def test_another_seed_gives_another_split():
    examples = distinct(["a", "b"] * 100)
    assert split(examples, USUAL_SHARES, 1) != split(examples, USUAL_SHARES, 2)


@pytest.mark.parametrize("counts", [{"a": 500, "b": 500}, {"a": 900, "b": 90, "c": 10}])
@pytest.mark.parametrize("shares", [USUAL_SHARES, {"train": 0.5, "valid": 0.25, "test": 0.25}])
def test_each_label_has_its_share_in_each_split(counts, shares):
    labels = [label for label, count in counts.items() for _ in range(count)]
    random.Random(1).shuffle(labels)
    for name, part in split(distinct(labels), shares, 3).items():
        seen = Counter(example.label for example in part)
        for label, count in counts.items():
            assert abs(seen[label] - shares[name] * count) <= 1.5


@pytest.mark.parametrize("num_labels_each", [1, 2, 3, 4, 6])
def test_shares_are_near_what_was_asked_when_labels_are_rare(num_labels_each):
    labels = [f"label {n}" for n in range(120) for _ in range(num_labels_each)]
    parts = split(distinct(labels), USUAL_SHARES, 0)
    for name, share in USUAL_SHARES.items():
        assert abs(len(parts[name]) / len(labels) - share) < 0.06, {
            n: len(p) for n, p in parts.items()
        }


@settings(deadline=None, max_examples=100)
@given(st.integers(3, 40), st.integers(1, 40), st.integers(0, 3))
def test_no_split_is_empty_where_examples_can_be_separated(num_examples, num_labels, seed):
    labels = [f"label {n % num_labels}" for n in range(num_examples)]
    assert all(split(distinct(labels), USUAL_SHARES, seed).values())


@pytest.mark.parametrize("seed", range(5))
def test_shares_are_near_what_was_asked_when_groups_differ_in_size(seed):
    draw = random.Random(seed)
    groups = [f"film {min(int(draw.expovariate(0.03)), 199)}" for _ in range(2_000)]
    parts = split(distinct([draw.choice("ab") for _ in groups], groups), USUAL_SHARES, seed)
    for name, share in USUAL_SHARES.items():
        assert abs(len(parts[name]) / 2_000 - share) < 0.03
        assert abs(Counter(e.label for e in parts[name])["a"] / len(parts[name]) - 0.5) < 0.1


def test_texts_of_marks_and_symbols_alone_are_no_copies_of_each_other():
    texts = ["!!!", "\U0001f600", "\U0001f621", "???", ":-)", ":-("]
    assert len(inseparable(made((text, "a", None) for text in texts))) > 1


@pytest.mark.parametrize(
    "shares", [{"train": 1.2, "valid": -0.2}, {"train": 0.5}, {"train": 1.0, "test": 0.0}]
)
def test_shares_that_are_none_are_refused(shares):
    with pytest.raises(DataError, match="shares"):
        split(distinct(["a"] * 10), shares, 0)


@pytest.mark.parametrize(
    "items", [[], [("one", "a", None)] * 9, [("one", "a", "g"), ("two", "b", "g")]]
)
def test_too_little_to_separate_is_refused_in_a_sentence(items):
    with pytest.raises(DataError, match="too few"):
        split(made(items), USUAL_SHARES, 0)
