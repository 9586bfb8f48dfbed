"""The settings of few labels are chosen on texts of which nothing is learned."""

import csv

import few_labels_settings
from few_labels_settings import WAYS, halves

from headstart.transfers.settings import WARM


def read(path):
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_no_film_and_no_copy_is_in_both_halves(tmp_path):
    rows = [
        (f"text {number % 90}", "ab"[number % 2], f"film {number % 17}") for number in range(99)
    ]
    train = tmp_path / "train.csv"
    with train.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerows([("text", "label", few_labels_settings.FILM), *rows])
    learned, unseen = (read(path) for path in halves(train, tmp_path / "work"))
    assert len(learned) + len(unseen) == 99
    assert min(len(learned), len(unseen)) > 30
    for column in ("text", "group"):
        values = [{row[column] for row in half} for half in (learned, unseen)]
        assert values[0].isdisjoint(values[1])
        assert "" not in values[0]


def test_the_default_comes_first_and_no_two_ways_are_the_same():
    first, *others = WAYS.values()
    assert first == WARM
    assert WARM not in others
    assert len(set(map(repr, WAYS.values()))) == 4
