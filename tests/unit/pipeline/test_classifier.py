"""A classifier's answers are those of a plain loop, whatever batch a text stands in."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny_classifiers import LABELS, SHAPES, recipe_of, run_of, sentence, write_run

from headstart.errors import DamagedFileError, DataError, RunError
from headstart.files import write_json
from headstart.models.heads.config import LanguageHeadConfig
from headstart.models.inputs import Text
from headstart.models.kernels.library import compiled_kernels
from headstart.objectives.labels import label_logits, to_label_batch
from headstart.pipeline import classifier as module
from headstart.pipeline import text_vectors
from headstart.pipeline.classifier import (
    Classifier,
    load_classifier,
    parts_of,
    probabilities,
    vectors_of,
)

TEXTS = [sentence(seed, 1 + seed * 7 % 40) for seed in range(30)] + ["", "☃ ω", "good"]


def plain(classifier: Classifier, text: str) -> np.ndarray:
    """One text, row by row, without padding: pools by hand and divides by hand."""
    model = classifier.run.model
    total, num_pieces = 0.0, 0
    with torch.no_grad():
        for row in classifier.reader.rows(text):
            read = Text(torch.tensor([row]))
            total = total + len(row) * model.head.pool(model.trunk(read), read)[0]
            num_pieces += len(row)
        logits = model.head.output(total / num_pieces).numpy() / classifier.temperature
    shares = np.exp(logits - logits.max())
    return shares / shares.sum()


@pytest.mark.parametrize("long_texts", ["cut", "windows"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_batch_answers_as_one_by_one(shape, long_texts):
    classifier = Classifier(run_of(recipe_of(shape, long_texts)), 1.7)
    found = np.stack(list(probabilities(classifier, TEXTS)))
    expected = np.stack([plain(classifier, text) for text in TEXTS])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found.argmax(axis=1).tolist() == expected.argmax(axis=1).tolist()
    # Answers that were all the same could not show a mix-up.
    assert found.std(axis=0).max() > 0.01


@pytest.mark.parametrize("shape", SHAPES)
def test_half_precision_answers_nearly_the_same(shape):
    run = run_of(recipe_of(shape, "windows"))
    whole, half = Classifier(run, 1.7), Classifier(run, 1.7, "bf16")
    expected, found = (np.stack(list(probabilities(one, TEXTS))) for one in (whole, half))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(found, expected, atol=0.03)
    # Rounded on the way, or nothing was done in half precision.
    assert (found != expected).any()


@pytest.mark.parametrize("shape", SHAPES)
def test_answers_are_those_that_training_sees(shape):
    classifier = Classifier(run_of(recipe_of(shape, "windows")), 0.6)
    rows = classifier.reader.rows_of_all(TEXTS)
    batch = to_label_batch(rows, [0] * len(rows), TEXTS, "cpu")
    with torch.no_grad():
        expected = (label_logits(classifier.run.model, batch) / 0.6).softmax(dim=1)
    found = np.stack(list(probabilities(classifier, TEXTS)))
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-5)


def test_order_is_kept_over_small_parts_and_batches(monkeypatch):
    classifier = Classifier(run_of(recipe_of("compact-masked", "windows")), 1.0)
    expected = np.stack(list(probabilities(classifier, TEXTS)))
    monkeypatch.setattr(module, "NUM_TEXTS_AT_ONCE", 7)
    monkeypatch.setitem(text_vectors.NUM_POSITIONS_PER_BATCH, "cpu", 50)
    found = np.stack(list(probabilities(classifier, iter(TEXTS))))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert list(probabilities(classifier, [])) == []


def test_vectors_are_those_that_are_judged():
    classifier = Classifier(run_of(recipe_of("bert", "windows")), 2.0)
    vectors = torch.from_numpy(np.stack(list(vectors_of(classifier, TEXTS))))
    found = np.stack(list(probabilities(classifier, TEXTS)))
    with torch.no_grad():
        expected = (classifier.run.model.head.output(vectors) / 2).softmax(dim=1)
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-6)


def test_no_more_is_held_than_a_part(monkeypatch):
    monkeypatch.setattr(module, "NUM_LETTERS_AT_ONCE", 100)
    taken = []

    def texts():
        for number in range(1000):
            taken.append(number)
            yield "ab" * 20

    classifier = Classifier(run_of(recipe_of("lab")), 1.0)
    next(probabilities(classifier, texts()))
    assert len(taken) == 3
    assert [len(part) for part in parts_of(["a" * 300, "b", "c" * 99, "d"])] == [1, 2, 1]


def test_no_gradient_is_kept():
    classifier = Classifier(run_of(recipe_of("compact-causal")), 1.0)
    list(probabilities(classifier, TEXTS))
    assert all(parameter.grad is None for parameter in classifier.run.model.parameters())


def test_a_megabyte_and_unknown_letters_have_answers():
    for long_texts in ("cut", "windows"):
        classifier = Classifier(run_of(recipe_of("compact-masked", long_texts)), 1.0)
        found = list(probabilities(classifier, ["good film " * 100_000, "☃" * 50]))
        np.testing.assert_allclose(np.sum(found, axis=1), 1, atol=1e-6)
    with pytest.raises(DataError, match="surrogate"):
        list(probabilities(classifier, ["\udc80"]))


def test_a_finished_run_answers_with_its_temperature(tmp_path):
    run = run_of(recipe_of("compact-masked"))
    folder = write_run(tmp_path / "run", run, temperature=1.5)
    loaded = load_classifier(folder, "cpu")
    assert (loaded.temperature, loaded.labels) == (1.5, LABELS)
    expected = list(probabilities(Classifier(run, 1.5), TEXTS))
    np.testing.assert_array_equal(list(probabilities(loaded, TEXTS)), expected)


@pytest.mark.parametrize("temperature", [None, 0, -1.0, "warm"])
def test_a_temperature_that_is_none_is_damage(tmp_path, temperature):
    folder = write_run(tmp_path / "run", run_of(recipe_of("lab")))
    write_json(folder / "results.json", {"temperature": temperature})
    with pytest.raises(DamagedFileError, match="temperature"):
        load_classifier(folder, "cpu")


def test_an_unfinished_run_is_not_calibrated(tmp_path):
    folder = write_run(tmp_path / "run", run_of(recipe_of("lab")))
    (folder / "manifest.json").unlink()
    assert module.read_temperature(folder) == 1.0


def test_a_language_model_is_no_classifier(tmp_path):
    recipe = recipe_of("compact-masked")
    head = LanguageHeadConfig(is_tied=True, has_bias=False)
    recipe = replace(recipe, transfer=None, model=replace(recipe.model, head=head))
    folder = write_run(tmp_path / "run", run_of(recipe))
    with pytest.raises(RunError, match=f"headstart transfer --from {folder} "):
        load_classifier(folder, "cpu")
    with pytest.raises(RunError, match="no run in"):
        load_classifier(tmp_path / "nothing", "cpu")


def test_single_rows_are_for_plain_products_that_nobody_learns_from():
    run = run_of(recipe_of("lab"))
    assert Classifier(run, 1.0, "bf16").single_row is None
    classifier = Classifier(run, 1.0)
    assert (classifier.single_row is None) == (compiled_kernels() is None)


def test_weights_that_change_after_a_text_change_the_next_answer():
    classifier = Classifier(run_of(recipe_of("lab")), 1.0)
    (before,) = probabilities(classifier, ["good"])
    with torch.no_grad():
        for weights in classifier.run.model.trunk.layers.parameters():
            weights.mul_(1.5)
    (after,) = probabilities(classifier, ["good"])
    np.testing.assert_allclose(after, plain(classifier, "good"), atol=1e-5)
    assert abs(after - before).max() > 1e-4


def test_a_classifier_that_was_used_can_be_copied():
    classifier = Classifier(run_of(recipe_of("lab")), 1.0)
    expected = list(probabilities(classifier, TEXTS[:3]))
    found = list(probabilities(copy.deepcopy(classifier), TEXTS[:3]))
    np.testing.assert_array_equal(found, expected)
