"""The whole guard on small splits with known faults, and on the documents' reviews."""

import random
from pathlib import Path

import pytest

from headstart.corpora.examples import Example
from headstart.corpora.leaks.cleaning import cleaned
from headstart.corpora.leaks.report import check
from headstart.corpora.places import Place

REVIEWS = Path(__file__).parents[4] / ".." / "shared" / "data" / "cls-books"


@pytest.fixture(scope="module")
def report(examples, random_text, changed):
    """Splits of which test items 0 to 4 leak in five ways, and 5 to 9 do not."""
    generator = random.Random(0)
    texts = [random_text(generator, 40) for _ in range(30)]
    train, valid, fresh = texts[:10], texts[10:20], texts[20:]
    test = [
        train[3].upper(),
        f"{valid[2]}!",
        changed(generator, train[5], 3),
        fresh[0],
        fresh[1],
        *fresh[2:6],
        fresh[5],
    ]
    corpus = [fresh[8], fresh[0], changed(generator, fresh[1], 3), fresh[9]]
    places = [Place(Path("corpus"), line) for line in range(1, 5)]
    splits = {
        "train": examples(train, ["0"] * 9 + ["1"], "train"),
        "valid": examples([*valid[:9], train[0]], name="valid"),
        "test": examples(test, ["1"] + ["0"] * 9, "test"),
    }
    calls = {"items": [], "documents": []}
    report = check(
        splits,
        iter(zip(places, corpus, strict=True)),
        on_item=calls["items"].append,
        on_document=calls["documents"].append,
    )
    return report, calls


def test_every_leak_is_found_where_it_is(report):
    report, _ = report
    assert report.num_items == {"train": 10, "valid": 10, "test": 10}
    assert report.num_corpus_documents == 4
    assert report.num_copies("test", "train") == 1
    assert report.num_copies("test", "valid") == 1
    assert report.num_copies("test", "test") == 1
    assert report.num_copies("valid", "train") == 1
    near = {(near.split, near.source): near.indices for near in report.near if near.pairs}
    assert near == {("test", "train"): {2}}
    assert {found.split: found.indices for found in report.corpus_exact}["test"] == {3}
    assert {found.split: found.indices for found in report.corpus_near}["test"] == {4}
    assert report.conflicts.num_texts_across == 1


def test_the_clean_test_is_without_exact_copies_and_the_strict_one_without_near_ones(report):
    report, _ = report
    assert report.cleaned.keys() == {"valid", "test"}
    assert report.cleaned["test"].clean == (2, 4, 5, 6, 7, 8, 9)
    assert report.cleaned["test"].strict == (5, 6, 7, 8, 9)
    assert report.cleaned["valid"].clean == tuple(range(9))


def test_progress_reaches_all_items_and_documents(report):
    _, calls = report
    assert calls["items"][-1] == 30
    assert calls["documents"] == [4]


def test_without_a_corpus_there_are_no_records_of_it(examples):
    report = check({"train": examples(["a b", "c d"])})
    assert (report.num_corpus_documents, report.corpus_exact, report.corpus_near) == (0, (), ())
    assert report.cleaned == {}


def test_a_cleaned_test_has_no_copies_left(examples, random_text):
    generator = random.Random(1)
    texts = [random_text(generator, 12) for _ in range(20)]
    splits = {
        "train": examples(generator.choices(texts, k=30)),
        "test": examples(generator.choices(texts, k=30), name="test"),
    }
    clean = check(splits).cleaned["test"].clean
    splits["test"] = [splits["test"][index] for index in clean]
    again = check(splits)
    assert again.num_copies("test", "train") == 0
    assert again.cleaned["test"].num_clean == len(clean)


def test_nothing_is_left_out_without_leaks():
    assert cleaned("test", 3, (), ()).strict == (0, 1, 2)


def read_reviews(name):
    path = REVIEWS / f"{name}.review.spm"
    lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    labels = (REVIEWS / f"{name}.label").read_text().split()
    return [
        Example(line.replace(" ", "").replace("▁", " ").strip(), label, Place(path, number))
        for number, (line, label) in enumerate(zip(lines, labels, strict=True), start=1)
    ]


@pytest.mark.shared_data
@pytest.mark.skipif(not REVIEWS.exists(), reason="the development data is not beside the checkout")
def test_the_documents_reviews_have_the_copies_that_are_known():
    report = check({name: read_reviews(name) for name in ("train", "valid", "test")})
    assert report.num_items == {"train": 1_600, "valid": 400, "test": 2_000}
    assert report.num_copies("test", "train") == 43
    assert report.num_copies("test", "valid") == 12
    assert report.num_copies("valid", "train") == 13
    assert report.num_copies("train", "train") == 20
    assert report.num_copies("test", "test") == 35
    assert report.cleaned["test"].num_clean == 2_000 - 54 == 1_946
    assert report.conflicts.num_texts == 0
    assert all(balance.largest_share == 0.5 for balance in report.balances)
    # English reviews among the French ones, read by hand.
    foreign = {odd.split: odd.num_items for odd in report.oddities if odd.kind == "language"}
    assert foreign == {"train": 4, "valid": 1, "test": 3}
