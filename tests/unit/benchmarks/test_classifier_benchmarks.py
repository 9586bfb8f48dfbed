"""What is held side by side does the same work: the same shape, the same reviews, every one."""

import bench_fine_tuning
import bench_predicting
import bench_starting
import numpy as np
import pytest
import torch
from drawn_classifier import LABELS, drawn_split, new_learner, shape_of, write_run
from drawn_reviews import drawn_texts, drawn_tokenizer, drawn_words

from headstart import find_recipe
from headstart.batches.bucketing import padding_share
from headstart.pipeline.classifier import load_classifier, probabilities

RECIPE = shape_of(is_tiny=True)


@pytest.fixture(scope="module")
def words():
    return drawn_words(1_202)


@pytest.fixture(scope="module")
def classifier(words, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    write_run(folder, RECIPE, drawn_tokenizer(words, RECIPE.model.trunk.vocabulary_size))
    return load_classifier(folder, "cpu")


def test_the_whole_shape_is_the_documents():
    assert shape_of(is_tiny=False) == find_recipe("lab")


def test_our_epoch_reads_every_review_once(monkeypatch):
    split = drawn_split(40, RECIPE)
    learner = new_learner(RECIPE, split)
    read = [index for step in range(learner.steps_per_epoch) for index in learner.chosen(step)]
    assert sorted(read) == list(range(40))
    monkeypatch.setattr(bench_fine_tuning, "drawn_split", lambda *_: split)
    monkeypatch.setattr(bench_fine_tuning, "new_learner", lambda *_: learner)
    states = []
    new_state = type(learner).new_state
    monkeypatch.setattr(
        type(learner), "new_state", lambda self: states.append(new_state(self)) or states[-1]
    )
    epoch = bench_fine_tuning.our_runs("fp32", is_by_mean=True, is_tiny=True)["epoch"]
    assert epoch() > 0
    assert epoch() > 0
    assert states[0].step == 2 * learner.steps_per_epoch == 6


def test_like_lengths_are_padded_little():
    split = drawn_split(320, find_recipe("lab"))
    learner = new_learner(find_recipe("lab"), split)
    assert padding_share(split.lengths, learner.order(0)) < 0.1


def test_a_written_run_labels_texts(classifier, words):
    assert classifier.labels == LABELS
    texts = drawn_texts([9, 20], words, classifier.run.tokenizer)
    for shares in probabilities(classifier, texts):
        assert shares.sum() == pytest.approx(1, abs=1e-5)
    assert bench_predicting.our_labels(classifier, texts) == [
        bench_predicting.our_label(classifier, text) for text in texts
    ]


def test_both_read_the_same_pieces(classifier, words):
    their_classifiers = pytest.importorskip("their_classifiers")
    theirs = their_classifiers.their_tokenizer(classifier.run.tokenizer)
    for text in drawn_texts([5, 30, 46], words, classifier.run.tokenizer):
        assert [theirs(text)["input_ids"]] == classifier.reader.rows(text)


def test_both_have_as_many_weights_in_their_layers(classifier):
    their_classifiers = pytest.importorskip("their_classifiers")
    theirs = their_classifiers.their_model(RECIPE).distilbert.transformer
    ours = classifier.run.model.trunk.layers
    assert count(theirs) == count(ours)
    assert count(their_classifiers.DocumentsClassifier(RECIPE).encoder) == count(ours)


def count(module: torch.nn.Module) -> int:
    return sum(weights.numel() for weights in module.parameters())


def test_percentiles_are_of_all_calls_and_medians_of_rounds():
    rounds = np.array([[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]])
    found = bench_predicting.milliseconds(rounds)
    assert (found["p50_ms"], found["p50_ms_of_rounds"], found["calls"]) == (4.0, [2.0, 6.0], 6)
    assert found["p95_ms"] == pytest.approx(6.75)


def test_one_core_is_given_back():
    before = torch.get_num_threads()
    with bench_predicting.one_core():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_a_start_that_fails_is_no_time(tmp_path):
    words = bench_starting.commands(tmp_path / "none", tmp_path)[bench_starting.PREDICT]
    with pytest.raises(bench_starting.subprocess.CalledProcessError):
        bench_starting.started(words)
    assert bench_starting.started(["-c", "pass"]) > 0
