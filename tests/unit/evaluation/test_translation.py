"""Scores of translations, against sacreBLEU itself and against counting by hand."""

import itertools
import random
import subprocess
import sys

import numpy as np
import pytest
import sacrebleu
from sacrebleu.significance import PairedTest

from headstart.errors import DataError
from headstart.evaluation.ngram_counts import count_ngrams
from headstart.evaluation.translation import (
    corpus_bleu,
    draws,
    interval,
    paired_bootstrap,
    translation_scores,
)

WORDS = [
    "Ein",
    "kleiner",
    "Hund",
    "läuft",
    "durch",
    "den",
    "tiefen",
    "Schnee",
    ",",
    "und",
    "eine",
    "Frau",
    "sieht",
    "ihm",
    "zu",
    ".",
]


def references(num_sentences, seed=0):
    choose = random.Random(seed)
    return [" ".join(choose.choices(WORDS, k=choose.randint(5, 14))) for _ in range(num_sentences)]


def spoiled(sentences, share, seed=1):
    """The sentences with some words replaced and some left out."""
    choose = random.Random(seed)
    return [
        " ".join(
            choose.choice(WORDS) if choose.random() < share else word
            for word in sentence.split()
            if choose.random() > share / 3
        )
        for sentence in sentences
    ]


@pytest.fixture(scope="module")
def truth():
    return references(60)


def test_bleu_is_that_of_sacrebleu_to_the_last_digit(truth):
    found = spoiled(truth, 0.3)
    assert corpus_bleu(found, truth) == sacrebleu.corpus_bleu(found, [truth]).score
    assert corpus_bleu([line.lower() for line in truth], truth) < 100, "case counts"
    assert corpus_bleu(truth, truth) == pytest.approx(100)
    assert corpus_bleu([""] * 60, truth) == 0


def test_bleu_is_that_of_sacrebleus_command(truth, tmp_path):
    found = spoiled(truth, 0.2)
    for name, lines in (("found", found), ("truth", truth)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    answer = subprocess.run(
        [
            sys.executable,
            "-m",
            "sacrebleu",
            "truth",
            "-i",
            "found",
            "-w",
            "6",
            "--force",
            "-f",
            "text",
            "-m",
            "bleu",
            "chrf",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    seen = translation_scores(found, truth, num_samples=1)
    assert f"BLEU|{seen.signature} = {seen.bleu:.6f} " in answer
    assert f"chrF2|{seen.chrf_signature} = {seen.chrf:.6f}" in answer
    assert "case:mixed" in seen.signature
    assert "tok:13a" in seen.signature


def test_intervals_are_those_of_sacrebleu_from_the_same_seed(truth, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", "3")
    found = spoiled(truth, 0.4)
    seen = translation_scores(found, truth, num_samples=200, seed=3)
    for metric, low, high in (
        (sacrebleu.BLEU(force=True), seen.bleu_low, seen.bleu_high),
        (sacrebleu.CHRF(), seen.chrf_low, seen.chrf_high),
    ):
        theirs = metric.corpus_score(found, [truth], n_bootstrap=200)
        assert (high - low) / 2 == pytest.approx(theirs._ci, abs=1e-5)  # theirs are float32
    assert seen.bleu_low < seen.bleu < seen.bleu_high
    assert seen.num_sentences == 60
    assert seen.num_samples == 200


def test_an_interval_of_three_sentences_is_that_over_all_draws():
    truth = references(3, seed=5)
    counts = count_ngrams("bleu", spoiled(truth, 0.5), truth)
    every = [
        counts.score_of(counts.count_NK[list(places)].sum(axis=0))
        for places in itertools.product(range(3), repeat=3)
    ]
    seen = translation_scores(spoiled(truth, 0.5), truth, num_samples=2_000)
    assert (seen.bleu_low, seen.bleu_high) == (min(every), max(every))


def test_draws_hold_as_many_sentences_as_the_test():
    for weights in draws(7, 5, seed=0):
        assert weights.sum() == 7
        assert len(weights) == 7
    first, again = (np.array(list(draws(7, 5, seed=2))) for _ in range(2))
    assert np.array_equal(first, again)


def test_an_interval_cuts_a_fortieth_at_each_end():
    assert interval(np.arange(1_000.0)[::-1]) == (25.0, 974.0)
    assert interval(np.array([4.0])) == (4.0, 4.0)


def test_a_system_against_itself_differs_by_nothing(truth):
    found = spoiled(truth, 0.3)
    seen = paired_bootstrap(found, found, truth, num_samples=50)
    assert (seen.bleu.difference, seen.bleu.low, seen.bleu.high, seen.bleu.p) == (0, 0, 0, 1)


def test_a_clear_difference_is_found_and_changes_its_sign_with_the_order(truth):
    good, bad = spoiled(truth, 0.1), spoiled(truth, 0.5, seed=2)
    seen, turned = paired_bootstrap(good, bad, truth), paired_bootstrap(bad, good, truth)
    assert seen.bleu.low > 0
    assert seen.bleu.p == pytest.approx(1 / 1_001)
    assert seen.chrf.low > 0
    assert seen.bleu.difference == pytest.approx(corpus_bleu(good, truth) - corpus_bleu(bad, truth))
    assert (turned.bleu.low, turned.bleu.high) == pytest.approx((-seen.bleu.high, -seen.bleu.low))


def test_the_drawn_differences_are_sacrebleus(truth, monkeypatch):
    """Where one system wins every draw, its p counts one side of ours."""
    monkeypatch.setenv("SACREBLEU_SEED", "0")
    good, bad = spoiled(truth, 0.2), spoiled(truth, 0.3, seed=2)
    theirs = PairedTest(
        [("bad", bad), ("good", good)],
        {"BLEU": sacrebleu.BLEU(force=True)},
        [truth],
        test_type="bs",
        n_samples=300,
    )()[1]
    (_, result) = theirs["BLEU"]
    seen = paired_bootstrap(good, bad, truth, num_samples=300)
    assert seen.bleu.one == pytest.approx(result.score, abs=1e-6)
    assert seen.bleu.p >= result.p_value - 1e-9


def test_equal_systems_are_called_different_about_as_often_as_the_p_says():
    """Both have the same share of errors, so that a p below 0.1 is rare: one of ten."""
    num_false = 0
    for trial in range(60):
        truth = references(60, seed=trial)
        one, other = spoiled(truth, 0.3, 1_000 + trial), spoiled(truth, 0.3, 2_000 + trial)
        num_false += paired_bootstrap(one, other, truth, num_samples=60).bleu.p < 0.1
    assert num_false <= 13, "more than 13 of 60 would happen once in a thousand times"


@pytest.mark.parametrize(
    ("found", "truth", "words"),
    [(["a"], ["a", "b"], "1 translations and 2 references"), ([], [], "0 translations")],
)
def test_what_cannot_be_scored_is_refused(found, truth, words):
    with pytest.raises(DataError, match=words):
        translation_scores(found, truth)
    with pytest.raises(DataError, match=words):
        corpus_bleu(found, truth)


def test_no_draws_are_refused():
    with pytest.raises(DataError, match="num_samples is 0"):
        translation_scores(["a"], ["a"], num_samples=0)
