"""TextClassifier is an estimator like any other of scikit-learn's."""

import os
import subprocess
import sys

import joblib
import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from headstart import TextClassifier
from headstart.errors import DataError, HeadstartError, RecipeError, RunError
from headstart.pipeline import training_run
from headstart.pipeline.classifier import load_classifier, probabilities
from headstart.pipeline.run_files import read_recipe, read_results


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Leaves out flushing and drawing, which others test and which take most of a short run."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    monkeypatch.setattr(training_run, "write_curves", lambda _folder: None, raising=False)


@pytest.fixture
def quick(trunk):
    """Makes an estimator that learns the task in a second."""

    def make(**changes) -> TextClassifier:
        usual = {"pretrained": trunk, "epochs": 6, "rate": 0.01, "num_threads": 1, "device": "cpu"}
        return TextClassifier(**usual | changes)

    return make


@pytest.fixture(scope="module")
def fitted(trunk, task):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _descriptor: None)
        model = TextClassifier(trunk, epochs=6, rate=0.01, num_threads=1, device="cpu")
        return model.fit(task.texts, task.labels)


class Series:
    """What a column of a data frame has in common with a list, and no more."""

    def __init__(self, values):
        self.values = values

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


def upper(texts):
    return [text.upper() for text in texts]


def lower(texts):
    return [text.lower() for text in texts]


def test_it_learns_labels_and_scores_itself(fitted, more):
    assert fitted.classes_.tolist() == ["bad", "good"]
    shares = fitted.predict_proba(more.texts)
    assert shares.shape == (40, 2)
    assert shares.sum(axis=1) == pytest.approx(np.ones(40), abs=1e-5)
    answers = fitted.predict(more.texts)
    assert answers.tolist() == [fitted.classes_[index] for index in shares.argmax(axis=1)]
    assert fitted.score(more.texts, more.labels) == accuracy_score(more.labels, answers)
    assert fitted.score(more.texts, more.labels) > 0.9


@pytest.mark.parametrize("kind", [np.array, tuple, Series])
def test_texts_and_labels_come_in_any_sequence(quick, fitted, task, more, kind):
    model = quick().fit(kind(task.texts), kind(task.labels))
    assert model.predict_proba(kind(more.texts)) == pytest.approx(fitted.predict_proba(more.texts))


@pytest.mark.parametrize(
    "named",
    [
        {"good": 1, "bad": 0},
        {"good": -3, "bad": 20},
        {"good": True, "bad": False},
        {"good": 2.0, "bad": -1.0},
        {"good": "", "bad": " a\nb "},
        {"good": "Größe, „so“", "bad": "10"},
    ],
)
def test_labels_of_any_kind_come_back_as_they_were(quick, fitted, task, more, named):
    labels = [named[label] for label in task.labels]
    model = quick().fit(task.texts, labels)
    assert model.classes_.tolist() == sorted(named.values())
    answers = model.predict(more.texts)
    assert set(answers.tolist()) <= set(labels)
    assert model.score(more.texts, [named[label] for label in more.labels]) > 0.9


def test_three_labels_in_the_order_of_classes(quick, task):
    texts = [*task.texts, *[f"ship number {n}" for n in range(20)]]
    labels = [*[{"good": 10, "bad": 9}[label] for label in task.labels], *[100] * 20]
    model = quick().fit(texts, labels)
    assert model.classes_.tolist() == [9, 10, 100]
    assert model.predict(["ship number 7"]).tolist() == [100]
    assert model.predict_proba(["ship number 7"]).argmax() == 2


def test_the_same_seed_gives_the_same_answers_and_another_others(quick, fitted, task, more):
    again = quick().fit(task.texts, task.labels)
    assert np.array_equal(again.predict_proba(more.texts), fitted.predict_proba(more.texts))
    other = quick(seed=5).fit(task.texts, task.labels)
    assert not np.array_equal(other.predict_proba(more.texts), fitted.predict_proba(more.texts))


def test_fitting_again_forgets_what_was_before(quick, fitted, task, more):
    model = quick().fit(task.texts, task.labels)
    model.predict(more.texts)
    turned = ["bad" if label == "good" else "good" for label in task.labels]
    model.fit(task.texts, turned)
    assert model.score(more.texts, more.labels) < 0.1


def test_a_cold_start_needs_no_trunk(recipe, task):
    model = TextClassifier(
        None, recipe=recipe, epochs=2, rate=0.01, num_threads=1, device="cpu", seed=1
    )
    model.fit(task.texts, task.labels)
    assert model.predict_proba(task.texts[:3]).shape == (3, 2)


@pytest.mark.parametrize("mode", ["frozen", "gradual"])
def test_modes_reach_the_transfer(quick, task, tmp_path, mode):
    quick(mode=mode, epochs=2, folder=tmp_path / "run").fit(task.texts, task.labels)
    assert read_recipe(tmp_path / "run").transfer.mode == mode


def test_settings_are_stored_cloned_and_changed(quick):
    model = quick(seed=3)
    assert model.get_params()["seed"] == 3
    copy = clone(model.set_params(epochs=9))
    assert copy.get_params() == model.get_params()
    assert copy is not model
    assert is_classifier(model)
    assert "TextClassifier" in repr(model)


def test_the_constructor_only_stores():
    made = TextClassifier("no such run", mode="no such mode", epochs=-1, device="no such device")
    assert made.get_params()["mode"] == "no such mode"


def test_it_is_a_step_of_a_pipeline(quick, fitted, task, more):
    model = make_pipeline(FunctionTransformer(lower), quick())
    model.fit(upper(task.texts), task.labels)
    expected = fitted.predict_proba(more.texts)
    assert model.predict_proba(upper(more.texts)) == pytest.approx(expected)


def test_cross_validation_works(quick, task):
    scores = cross_val_score(quick(), task.texts, task.labels, cv=2)
    assert scores.shape == (2,)
    assert scores.mean() > 0.7


def test_settings_are_searched_in_a_grid(quick, task):
    # Frozen, since a head that was fitted first would answer well at any rate.
    search = GridSearchCV(quick(mode="frozen", epochs=20), {"rate": [1e-9, 0.05]}, cv=2)
    search.fit(np.array(task.texts), np.array(task.labels))
    assert search.best_params_ == {"rate": 0.05}
    assert search.predict(["the ship is splendid today"]).tolist() == ["good"]


@pytest.mark.parametrize("has_answered", [True, False])
def test_pickled_it_needs_no_file(quick, task, more, has_answered, tmp_path):
    model = quick(folder=tmp_path / "run").fit(task.texts, task.labels)
    expected = model.predict_proba(more.texts)
    if not has_answered:
        del model._loaded
    joblib.dump([model, quick()], tmp_path / "models.joblib")
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    again, unfitted = joblib.load(tmp_path / "models.joblib")
    assert np.array_equal(again.predict_proba(more.texts), expected)
    assert unfitted.get_params() == quick().get_params()


@pytest.mark.slow
def test_processes_share_the_work(fitted, more):
    parts = joblib.Parallel(n_jobs=2)(
        joblib.delayed(fitted.predict_proba)(texts) for texts in (more.texts[:20], more.texts[20:])
    )
    assert np.concatenate(parts) == pytest.approx(fitted.predict_proba(more.texts), abs=1e-6)


def test_a_folder_keeps_the_run(quick, task, more, tmp_path):
    model = quick(folder=tmp_path / "run").fit(task.texts, task.labels)
    assert read_results(tmp_path / "run")["valid"]["num_items"] > 0
    loaded = load_classifier(tmp_path / "run", "cpu")
    assert loaded.labels == ("bad", "good")
    assert list(probabilities(loaded, more.texts)) == pytest.approx(model.predict_proba(more.texts))
    before = (tmp_path / "run" / "examples.jsonl").read_bytes()
    with pytest.raises(RunError, match="holds a run already"):
        model.fit(task.texts[::-1], task.labels[::-1])
    # The examples of the first fit are still those that its run is about.
    assert (tmp_path / "run" / "examples.jsonl").read_bytes() == before


def test_no_run_is_left_behind_where_no_folder_was_named(quick, task, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    quick(epochs=1).fit(task.texts, task.labels).predict(task.texts[:1])
    assert not list(tmp_path.iterdir())


def test_nothing_is_predicted_before_it_was_fitted(quick):
    with pytest.raises(NotFittedError):
        quick().predict(["a text"])


def test_no_texts_have_no_answers_and_an_empty_text_has_one(fitted):
    assert fitted.predict_proba([]).shape == (0, 2)
    assert fitted.predict([]).shape == (0,)
    assert fitted.predict(["", " \n"]).shape == (2,)


@pytest.mark.parametrize(
    ("texts", "labels", "told"),
    [
        ("a text", ["a"], "X is one text"),
        (["a", None], ["a", "b"], r"X\[1\] is a NoneType"),
        ([["a"], ["b"]], ["a", "b"], r"X\[0\] is a list"),
        (["a", "b\0"], ["a", "b"], r"X\[1\] holds a NUL"),
        (["a", "b"], ["a"], r"shape \(1,\) for 2 texts"),
        (["a", "b"], [["a"], ["b"]], r"shape \(2, 1\) for 2 texts"),
        (["a", "b"], ["a", "a"], "1 different labels"),
        (["a", "b", "c"], [0.0, 1.0, float("nan")], "NaN"),
        (["a", "b"], np.array(["a", None], dtype=object), "cannot be sorted"),
        ([], [], "0 different labels"),
    ],
)
def test_what_cannot_be_learned_is_told(quick, texts, labels, told):
    with pytest.raises(DataError, match=told):
        quick().fit(texts, labels)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"pretrained": "film_en"}, "Did you mean 'film-en'"),
        ({"recipe": "lab"}, "brings its own"),
        ({"pretrained": None, "mode": "frozen"}, "the trunk is cold"),
        ({"mode": "sideways"}, "mode is 'sideways'"),
        ({"epochs": 0}, "epochs is 0"),
        ({"rate": -1.0}, "peak_rate is -1.0"),
        ({"rate": "fast"}, "rate is 'fast'; it must be a number"),
        ({"pretrained": 5}, "pretrained is 5; it must be the folder of a run"),
        ({"recipe": 5}, "recipe is 5; it must be a recipe"),
        ({"seed": None}, "seed is None; it must be a whole number"),
        ({"seed": 1.5}, "seed is 1.5; it must be a whole number"),
        ({"num_threads": "all"}, "num_threads is 'all'"),
        ({"folder": 5}, "folder is 5; it must be the folder"),
    ],
)
def test_settings_that_cannot_be_are_told_when_it_is_fitted(quick, task, changes, told):
    with pytest.raises(HeadstartError, match=told):
        quick(**changes).fit(task.texts, task.labels)


def test_numbers_of_numpy_are_numbers(quick, fitted, task, more):
    numbers = {"seed": np.int64(0), "epochs": np.int64(6), "num_threads": np.int64(1)}
    model = quick(**numbers, rate=np.float64(0.01)).fit(task.texts, task.labels)
    assert np.array_equal(model.predict_proba(more.texts), fitted.predict_proba(more.texts))


def test_a_classifier_teaches_no_plain_text(quick, task, tmp_path, trunk):
    from headstart.pipeline.adaptation import require_fitting_start
    from headstart.pipeline.pack import Packing, pack

    folder = tmp_path / "run"
    quick(epochs=1, folder=folder).fit(task.texts, task.labels)
    with pytest.raises(RecipeError, match="is a classifier of bad, good"):
        require_fitting_start(folder, read_recipe(trunk))
    with pytest.raises(RunError, match="is a classifier"):
        pack(folder, tmp_path / "small", Packing(name="small"))


def test_neither_the_package_nor_its_help_imports_scikit_learn():
    code = "import sys, headstart, headstart.apps.cli.main; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
