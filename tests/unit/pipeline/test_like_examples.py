"""The nearest training examples, and what is said when they are gone."""

import csv
from pathlib import Path

import numpy as np
import pytest
from tiny_classifiers import LABELS, recipe_of, run_of, sentence, write_run

from headstart.corpora.examples import Example
from headstart.corpora.places import Place
from headstart.pipeline import like_examples as module
from headstart.pipeline.classifier import Classifier, load_classifier, vectors_of
from headstart.pipeline.examples import ExamplesConfig, example_hashes, write_examples_config
from headstart.pipeline.like_examples import like_examples, most_like, training_examples


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return Classifier(run_of(recipe_of("compact-masked")), 1.0)


def examples(count: int) -> list[Example]:
    return [
        Example(sentence(seed, 3 + seed % 8), LABELS[seed % 3], Place(Path("train.csv"), seed))
        for seed in range(count)
    ]


@pytest.fixture
def folder(tmp_path) -> Path:
    """A run that says from which examples it learned."""
    with (tmp_path / "train.csv").open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["text", "label"])
        writer.writerows((one.text, one.label) for one in examples(60))
    write_run(tmp_path / "run", run_of(recipe_of("compact-masked")))
    config = ExamplesConfig(train=str(tmp_path / "train.csv"), size=30)
    write_examples_config(tmp_path / "run", config, example_hashes(config))
    return tmp_path / "run"


def test_they_have_the_largest_cosines(classifier):
    given, text = examples(50), sentence(999)
    found = most_like(classifier, text, given)
    vectors = [
        vector.astype(np.float64) for vector in vectors_of(classifier, [one.text for one in given])
    ]
    (asked,) = vectors_of(classifier, [text])
    cosines = [
        vector @ asked / np.linalg.norm(vector) / np.linalg.norm(asked) for vector in vectors
    ]
    best = np.argsort(cosines)[::-1][: module.NUM_SHOWN]
    assert [one.text for one in found.examples] == [given[place].text for place in best]
    assert [one.label for one in found.examples] == [given[place].label for place in best]
    np.testing.assert_allclose(
        [one.cosine for one in found.examples], sorted(cosines)[:-7:-1], atol=1e-5
    )
    assert (found.num_compared, found.num_known) == (50, 50)


def test_the_text_itself_is_most_like_itself(classifier):
    given = examples(20)
    assert most_like(classifier, given[13].text, given).examples[0].cosine == pytest.approx(1)


def test_of_very_many_some_are_compared(classifier, monkeypatch):
    monkeypatch.setattr(module, "NUM_MOST_COMPARED", 20)
    found = most_like(classifier, "good", examples(50))
    assert found.num_compared == 17
    assert found.num_known == 50


def test_a_run_knows_its_training_examples(folder):
    assert len(training_examples(folder)) == 30
    found = like_examples(load_classifier(folder, "cpu"), "good film")
    assert len(found.examples) == module.NUM_SHOWN
    assert not found.missing


def test_changed_and_missing_files_are_told_in_a_sentence(folder):
    classifier = load_classifier(folder, "cpu")
    path = folder.parent / "train.csv"
    path.write_text(path.read_text() + "one more,good\n")
    assert "has changed since the run learned from it" in like_examples(classifier, "a").missing
    path.unlink()
    assert "There is no file" in like_examples(classifier, "a").missing
    assert not like_examples(classifier, "a").examples
