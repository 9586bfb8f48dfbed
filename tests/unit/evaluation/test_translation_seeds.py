"""Intervals of BLEU over seeds and sentences: held against draws, and by simulation."""

import random

import numpy as np
import pytest

from headstart.errors import DataError
from headstart.evaluation.translation import corpus_bleu, paired_bootstrap, translation_scores
from headstart.evaluation.translation_seeds import crossed_score, crossed_score_difference

WORDS = ("one", "small", "dog", "runs", "through", "deep", "snow", "and", "a", "woman")


def drawn(seed, num_seeds, num_sentences, luck=0.0):
    """References, and translations of them by systems that are good on average, more or less."""
    choose = random.Random(seed)
    truth = [" ".join(choose.choices(WORDS, k=choose.randint(6, 12))) for _ in range(num_sentences)]
    shares = [max(0.0, 0.3 + choose.gauss(0, luck)) for _ in range(num_seeds)]
    return truth, [[spoiled(choose, line, share) for line in truth] for share in shares]


def spoiled(choose, line, share):
    words = line.split()
    return " ".join(choose.choice(WORDS) if choose.random() < share else word for word in words)


def test_the_mean_is_that_of_the_seeds():
    truth, found = drawn(0, 3, 50)
    seen = crossed_score("bleu", found, truth)
    assert seen.mean == pytest.approx(np.mean([corpus_bleu(one, truth) for one in found]))
    assert 0 <= seen.low < seen.mean < seen.high <= 100
    assert (seen.num_seeds, seen.num_items) == (3, 50)


def test_with_one_seed_it_is_about_the_interval_that_drawing_sentences_gives():
    truth, (found,) = drawn(1, 1, 400)
    seen = crossed_score("bleu", [found], truth)
    by_draws = translation_scores(found, truth, num_samples=500)
    assert seen.high - seen.low == pytest.approx(by_draws.bleu_high - by_draws.bleu_low, rel=0.35)


def test_a_difference_with_one_seed_is_about_the_paired_one():
    truth, (one, other) = drawn(2, 2, 400)
    seen = crossed_score_difference("bleu", [one], [other], truth)
    by_draws = paired_bootstrap(one, other, truth, num_samples=500).bleu
    assert seen.mean == pytest.approx(by_draws.difference)
    assert seen.high - seen.low == pytest.approx(by_draws.high - by_draws.low, rel=0.35)


def test_seeds_that_differ_widen_the_interval():
    truth, found = drawn(3, 4, 200, luck=0.15)
    alike = crossed_score("bleu", [found[0]] * 4, truth)
    unlike = crossed_score("bleu", found, truth)
    assert unlike.high - unlike.low > 2 * (alike.high - alike.low)


def test_the_same_systems_differ_by_nothing_and_their_order_is_the_sign():
    truth, found = drawn(4, 4, 60)
    same = crossed_score_difference("chrf", found[:2], found[:2], truth)
    assert same.mean == 0
    assert same.low < 0 < same.high
    assert same.p == pytest.approx(1)
    one = crossed_score_difference("chrf", found[:2], found[2:], truth)
    other = crossed_score_difference("chrf", found[2:], found[:2], truth)
    assert (one.mean, one.low, one.p) == pytest.approx((-other.mean, -other.high, other.p))


def test_equal_systems_are_found_equal_about_nineteen_times_of_twenty():
    num_covered = 0
    for trial in range(60):
        truth, found = drawn(100 + trial, 6, 60, luck=0.04)
        seen = crossed_score_difference("bleu", found[:3], found[3:], truth)
        num_covered += seen.low <= 0 <= seen.high
    assert num_covered >= 51, "fewer than 51 of 60 would happen once in a thousand times"


@pytest.mark.parametrize(("num_seeds", "num_sentences"), [(0, 5), (2, 1)])
def test_too_few_are_refused(num_seeds, num_sentences):
    truth = ["one small dog"] * num_sentences
    with pytest.raises(DataError, match=f"{num_seeds} seeds and {num_sentences} sentences"):
        crossed_score("bleu", [truth] * num_seeds, truth)


def test_unlike_numbers_of_seeds_are_refused():
    truth = ["one small dog"] * 3
    with pytest.raises(DataError, match="from 2 seeds and the other from 1"):
        crossed_score_difference("bleu", [truth] * 2, [truth], truth)
