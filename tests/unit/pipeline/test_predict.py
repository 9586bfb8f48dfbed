"""Labels as they are read, and as a table that reads back the same."""

import csv
from pathlib import Path

import numpy as np
import pytest
from tiny_classifiers import LABELS, recipe_of, run_of, sentence

from headstart.corpora.documents import Document
from headstart.corpora.places import Place
from headstart.errors import FileError
from headstart.pipeline import classifier as classifier_module
from headstart.pipeline.classifier import Classifier, probabilities
from headstart.pipeline.predict import Prediction, predictions, write_predictions


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return Classifier(run_of(recipe_of("compact-masked")), 1.3)


def documents(count: int) -> list[Document]:
    """Texts on every second line."""
    return [
        Document(sentence(seed, 1 + seed % 9), Place(Path("texts.txt"), 2 * seed + 1))
        for seed in range(count)
    ]


def test_each_text_has_its_likeliest_label(classifier, monkeypatch):
    monkeypatch.setattr(classifier_module, "NUM_TEXTS_AT_ONCE", 7)
    given = documents(30)
    found = list(predictions(classifier, iter(given)))
    expected = np.stack(list(probabilities(classifier, [one.text for one in given])))
    assert [one.document for one in found] == given
    assert [one.label for one in found] == [LABELS[place] for place in expected.argmax(axis=1)]
    assert [one.probability for one in found] == expected.max(axis=1).tolist()
    assert [list(one.probabilities.values()) for one in found] == expected.tolist()
    assert len({one.label for one in found}) > 1


def test_no_more_texts_are_read_than_are_held(classifier, monkeypatch):
    monkeypatch.setattr(classifier_module, "NUM_TEXTS_AT_ONCE", 5)
    given = iter(documents(30))
    found = predictions(classifier, given)
    next(found)
    assert len(list(given)) == 25


def test_pieces_are_joined_before_they_are_judged(classifier):
    plain = Document("good film", Place(Path("a.txt"), 1))
    cut = Document("▁go od ▁film", Place(Path("a.spm"), 1), is_cut=True)
    one, other = predictions(classifier, [plain, cut])
    # The vectors have the same bits; a product of a few rows with the head need not.
    assert one.probabilities == pytest.approx(other.probabilities, rel=1e-6)


def test_the_table_reads_back_the_same(classifier, tmp_path):
    path = tmp_path / "folder that is missing" / "labels.csv"
    found = list(predictions(classifier, documents(40)))
    counts = write_predictions(path, LABELS, iter(found))
    assert counts == {label: sum(one.label == label for one in found) for label in LABELS}
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert list(rows[0]) == ["line", "label", "probability", *(f"probability_{x}" for x in LABELS)]
    assert [int(row["line"]) for row in rows] == [one.document.place.line for one in found]
    assert [row["label"] for row in rows] == [one.label for one in found]
    for label in LABELS:
        read = np.array([float(row[f"probability_{label}"]) for row in rows])
        np.testing.assert_allclose(read, [one.probabilities[label] for one in found], rtol=1e-6)


def test_odd_labels_are_quoted(tmp_path):
    labels = ('comma, and "quotes"', "line\nend", "ünï")
    found = [
        Prediction(
            document=Document("a", Place(Path("a.txt"), number)),
            label=label,
            probabilities=dict.fromkeys(labels, 0.25) | {label: 0.5},
        )
        for number, label in enumerate(labels, start=1)
    ]
    write_predictions(tmp_path / "out.csv", labels, found)
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as handle:
        rows = list(csv.reader(handle))
    assert [row[1] for row in rows[1:]] == list(labels)
    assert rows[0][3:] == [f"probability_{label}" for label in labels]


def test_a_table_appears_whole_or_not_at_all(classifier, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("before")

    def broken():
        yield from predictions(classifier, documents(3))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_predictions(path, LABELS, broken())
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileError, match="Cannot write"):
        write_predictions(path / "below.csv", LABELS, [])
