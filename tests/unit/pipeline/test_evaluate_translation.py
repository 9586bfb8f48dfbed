"""A translator's scores are of its translations, and its loss is that of the true ones."""

import math
from pathlib import Path

import pytest

from headstart.corpora.compression import Meter
from headstart.corpora.documents import Reading
from headstart.corpora.pairs import Pair
from headstart.corpora.places import Complaints, Place
from headstart.errors import DataError
from headstart.evaluation.translation import corpus_bleu
from headstart.pipeline import evaluate_translation as module
from headstart.pipeline.evaluate_translation import (
    PairTest,
    evaluate_translation,
    loss_on,
    read_test_pairs,
)
from headstart.pipeline.translating.pair_scoring import pair_row, written_log_probabilities


def pairs_of(texts, num_pairs=8):
    both = zip(texts[:num_pairs], texts[num_pairs : 2 * num_pairs], strict=True)
    return [Pair(*pair, Place(Path("test.src"), n)) for n, pair in enumerate(both, start=1)]


def reading():
    return Reading(meter=Meter(), complaints=Complaints(skips_bad=False))


def test_scores_are_of_what_was_found(translator, texts):
    pairs = pairs_of(texts)
    truth = [pair.target for pair in pairs]
    found = truth[:4] + texts[30:34]
    seen = evaluate_translation(translator, pairs, found)
    assert seen.scores.bleu == corpus_bleu(found, truth)
    assert seen.scores.num_sentences == 8
    assert seen.against is None
    beside = evaluate_translation(translator, pairs, truth, found).against
    assert beside.bleu.one == pytest.approx(100)
    assert beside.bleu.other == seen.scores.bleu


def test_a_clean_test_leaves_out_what_was_learned_from(translator, texts, monkeypatch):
    pairs = pairs_of(texts)
    truth = [pair.target for pair in pairs]
    found = truth[:4] + texts[30:34]
    for is_copied, clean in (
        ([True] * 4 + [False] * 4, corpus_bleu(found[4:], truth[4:])),
        ([False] * 8, None),
        ([True] * 8, None),
        (None, None),
    ):
        monkeypatch.setattr(module, "are_copied_by", lambda *_, is_copied=is_copied: is_copied)
        seen = evaluate_translation(translator, pairs, found)
        assert seen.num_copied == (None if is_copied is None else sum(is_copied))
        assert (None if seen.clean is None else seen.clean.bleu) == clean


def test_the_loss_is_the_mean_over_pieces_and_not_over_sentences(translator, texts):
    pairs = pairs_of(texts)
    by_hand = [
        logarithm
        for pair in pairs
        for (scores,) in [
            written_log_probabilities(translator, [pair_row(translator, pair.source, pair.target)])
        ]
        for logarithm in scores
    ]
    seen = loss_on(translator, pairs)
    assert seen.nats == pytest.approx(-math.fsum(by_hand) / len(by_hand), abs=1e-5)
    assert seen.num_pieces == len(by_hand)
    assert seen.num_too_long == 0


def test_pairs_that_are_too_long_are_left_out_of_the_loss_and_counted(translator, texts):
    pairs = pairs_of(texts)
    long = Pair(" ".join(texts[:20]), texts[0], Place(Path("test.src"), 9))
    seen = loss_on(translator, [*pairs, long])
    assert seen.num_too_long == 1
    assert seen.nats == pytest.approx(loss_on(translator, pairs).nats)


def test_pairs_are_read_from_two_files_or_from_tables(tmp_path):
    (tmp_path / "a").write_text("one\ntwo\n")
    (tmp_path / "b").write_text("eins\nzwei\n")
    (tmp_path / "t.csv").write_text("source,target\none,eins\ntwo,zwei\n")
    by_lines = read_test_pairs(PairTest(source=tmp_path / "a", target=tmp_path / "b"), reading())
    by_table = read_test_pairs(PairTest(tables=(tmp_path / "t.csv",)), reading())
    for found in (by_lines, by_table):
        assert [(pair.source, pair.target) for pair in found] == [("one", "eins"), ("two", "zwei")]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"source": Path("a")}, "--source a was given without --target"),
        ({"target": Path("b")}, "--target b was given without --source"),
        ({}, "neither were given"),
        ({"source": Path("a"), "target": Path("b"), "tables": (Path("t"),)}, "both were given"),
    ],
)
def test_half_a_test_is_refused(given, words):
    with pytest.raises(DataError, match=words):
        PairTest(**given)
