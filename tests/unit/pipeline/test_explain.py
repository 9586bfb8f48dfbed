"""An explanation is of the text that was given, and adds up for every shape."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_classifiers import LABELS, SHAPES, recipe_of, run_of, sentence

from headstart.errors import DataError
from headstart.objectives.labels import label_logits, to_label_batch
from headstart.pipeline import explain as module
from headstart.pipeline.classifier import Classifier, probabilities
from headstart.pipeline.explain import account_of, attention_of, blank_piece, explain
from headstart.tokenizers.spans import PieceSpan


def margin(classifier: Classifier, rows, label: int) -> float:
    with torch.no_grad():
        batch = to_label_batch([rows], [0], [""], "cpu")
        (logits,) = label_logits(classifier.run.model, batch).double().numpy()
    return (logits[label] - np.delete(logits, label).mean()) / classifier.temperature


@pytest.mark.parametrize("num_words", [5, 30])
@pytest.mark.parametrize("long_texts", ["cut", "windows"])
@pytest.mark.parametrize("shape", SHAPES)
def test_pieces_add_up_to_the_margin(shape, long_texts, num_words):
    classifier = Classifier(run_of(recipe_of(shape, long_texts)), 1.4)
    text = sentence(11, num_words)
    found = explain(classifier, text)
    (shares,) = probabilities(classifier, [text])
    assert found.label == LABELS[int(shares.argmax())]
    account = found.account
    rows = classifier.reader.rows(text)
    assert account.margin == pytest.approx(
        margin(classifier, rows, LABELS.index(found.label)), abs=1e-4
    )
    difference = account.margin - account.blank_margin
    total = sum(piece.share for piece in account.pieces)
    assert account.gap <= 0.01
    assert abs(total - difference) <= 0.0101 * abs(difference) + 1e-6
    # In order, each once, and all that was read.
    places = [(piece.begin, piece.end) for piece in account.pieces]
    assert places == sorted(places)
    num_pieces = len(classifier.run.tokenizer.encode(text))
    is_whole = long_texts == "windows" or num_pieces <= classifier.reader.room
    assert is_whole == (account.num_unread == 0)
    if is_whole:
        assert "".join(text[begin:end] for begin, end in places).split() == text.split()
        words = [text[word.begin : word.end] for word in account.words]
        assert words == text.split()
        assert sum(word.share for word in account.words) == pytest.approx(total, abs=1e-5)
    assert account.num_windows == len(rows)


def test_a_piece_in_two_windows_has_both_shares():
    classifier = Classifier(run_of(recipe_of("compact-masked", "windows", length=7)), 1.0)
    text = " ".join(["good", "film", "bad", "plot", "slow", "fun", "great", "was", "not"])
    rows = classifier.reader.rows(text)
    num_pieces = len(classifier.run.tokenizer.encode(text))
    assert num_pieces % 7
    assert len(rows) > 1
    account = account_of(classifier, text, 0)
    assert sum(piece.share for piece in account.pieces) == pytest.approx(
        account.margin - account.blank_margin, rel=0.011
    )


def test_blanks_are_masks_only_where_the_trunk_has_learned_them():
    assert {shape: blank_piece(run_of(recipe_of(shape))) for shape in SHAPES} == {
        "lab": "<oov>",
        "bert": "<mask>",
        "compact-masked": "<mask>",
        "compact-causal": "<oov>",
    }


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("text", ["", " ", "☃ ω 漢", "a\n\tb", "good " * 3000])
def test_odd_texts_are_explained_too(shape, text):
    classifier = Classifier(run_of(recipe_of(shape, "cut")), 1.0)
    found = explain(classifier, text)
    assert np.isfinite([piece.share for piece in found.account.pieces]).all()
    assert all(0 <= piece.begin <= piece.end <= len(text) for piece in found.account.pieces)
    assert found.account.gap <= 0.01


def test_too_many_windows_are_refused_with_what_to_do():
    classifier = Classifier(run_of(recipe_of("lab", "windows")), 1.0)
    with pytest.raises(DataError, match="at most 64 can be explained"):
        explain(classifier, "good film " * 2000)
    with pytest.raises(DataError, match="surrogate"):
        explain(classifier, "\ud800")


def test_maps_are_of_the_first_pieces(monkeypatch):
    run = run_of(recipe_of("lab"))
    row = [0, *range(10, 30)]
    whole = attention_of(run, row)
    assert [layer.shape for layer in whole.layers] == [(2, 21, 21)] * 2
    np.testing.assert_allclose(whole.layers[0].sum(axis=2), 1, atol=1e-5)
    assert not np.triu(whole.layers[1], k=1).any()
    monkeypatch.setattr(module, "NUM_PIECES_SHOWN", 6)
    part = attention_of(run, row)
    assert (len(part.pieces), part.num_pieces) == (6, 21)
    np.testing.assert_array_equal(part.layers[1], whole.layers[1][:, :6, :6])


def test_bytes_of_one_letter_are_judged_together():
    spans = [PieceSpan(9, "▁", 0, 0), PieceSpan(9, "<0xE2>", 0, 0), PieceSpan(9, "<0x98>", 0, 1)]
    found = module.judged_pieces([*spans, PieceSpan(9, "▁", 1, 1)], [0.5, 0.25, 1.0, 2.0])
    assert [(part.begin, part.end, part.share) for part in found] == [(0, 1, 1.75), (1, 1, 2.0)]


def test_a_run_without_examples_says_so():
    found = explain(Classifier(run_of(recipe_of("bert")), 1.0), "good film")
    assert not found.alike.examples
    assert "does not say from which examples it learned" in found.alike.missing
    assert found.run == str(Path("run"))


@pytest.mark.gpu
@pytest.mark.parametrize("shape", SHAPES)
def test_a_gpu_answers_and_explains_as_a_processor_does(shape):
    text = sentence(3, 30)
    on_cpu, on_gpu = (Classifier(run_of(recipe_of(shape, "windows")), 1.2) for _ in ("cpu", "cuda"))
    on_gpu.run.model.to("cuda")
    one, other = explain(on_cpu, text), explain(on_gpu, text)
    np.testing.assert_allclose(
        list(other.probabilities.values()), list(one.probabilities.values()), atol=1e-3
    )
    assert other.account.gap <= 0.01
    assert other.account.margin == pytest.approx(one.account.margin, abs=1e-2)
