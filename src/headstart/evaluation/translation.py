"""How good translations are: BLEU and chrF with intervals, and two systems on the same sentences.

Sentences are drawn again with replacement (Koehn 2004), as sacreBLEU draws them: the same seed
gives the same draws. Legend: N sentences, R draws.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headstart.errors import DataError
from headstart.evaluation.ngram_counts import Floats, MetricName, NgramCounts, count_ngrams

NUM_SAMPLES = 1_000
# With 95 % confidence: one draw of forty lies below the interval, and one above.
TAIL = 40


@dataclass(frozen=True, kw_only=True)
class TranslationScores:
    """What one system scored on one test, from 0 to 100, with 95 % intervals over sentences."""

    bleu: float
    bleu_low: float
    bleu_high: float
    chrf: float
    chrf_low: float
    chrf_high: float
    signature: str
    """How BLEU was counted, in sacreBLEU's words."""
    chrf_signature: str
    num_sentences: int
    num_samples: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class ScoreDifference:
    """The score of one system minus that of the other, with its 95 % interval over sentences."""

    one: float
    other: float
    difference: float
    low: float
    high: float
    p: float
    """Two-sided, against no difference."""


@dataclass(frozen=True, kw_only=True)
class PairedScores:
    """Two systems on the same sentences."""

    bleu: ScoreDifference
    chrf: ScoreDifference
    num_sentences: int
    num_samples: int
    seed: int


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Returns the BLEU of all sentences together, with case, cut by 13a."""
    return count_ngrams("bleu", hypotheses, references).score


def translation_scores(
    hypotheses: Sequence[str],
    references: Sequence[str],
    num_samples: int = NUM_SAMPLES,
    seed: int = 0,
) -> TranslationScores:
    """Returns both scores of a system, with the intervals that draws of its sentences give."""
    bleu = count_ngrams("bleu", hypotheses, references)
    chrf = count_ngrams("chrf", hypotheses, references)
    bleu_low, bleu_high = interval(drawn_scores(bleu, num_samples, seed))
    chrf_low, chrf_high = interval(drawn_scores(chrf, num_samples, seed))
    return TranslationScores(
        bleu=bleu.score,
        bleu_low=bleu_low,
        bleu_high=bleu_high,
        chrf=chrf.score,
        chrf_low=chrf_low,
        chrf_high=chrf_high,
        signature=bleu.signature,
        chrf_signature=chrf.signature,
        num_sentences=len(references),
        num_samples=num_samples,
        seed=seed,
    )


def paired_bootstrap(
    one: Sequence[str],
    other: Sequence[str],
    references: Sequence[str],
    num_samples: int = NUM_SAMPLES,
    seed: int = 0,
) -> PairedScores:
    """Returns how far two systems are apart where both are given the same draws of sentences."""

    def difference(name: MetricName) -> ScoreDifference:
        counted = (count_ngrams(name, one, references), count_ngrams(name, other, references))
        return score_difference(*counted, num_samples, seed)

    return PairedScores(
        bleu=difference("bleu"),
        chrf=difference("chrf"),
        num_sentences=len(references),
        num_samples=num_samples,
        seed=seed,
    )


def score_difference(
    one: NgramCounts, other: NgramCounts, num_samples: int, seed: int
) -> ScoreDifference:
    """Returns the difference of two scores, and how surely it is none of chance."""
    drawn_R = drawn_scores(one, num_samples, seed) - drawn_scores(other, num_samples, seed)
    low, high = interval(drawn_R)
    difference = one.score - other.score
    # Had there been no difference, draws would spread around 0 as these do around their mean.
    num_as_far = int((np.abs(drawn_R - drawn_R.mean()) >= abs(difference)).sum())
    return ScoreDifference(
        one=one.score,
        other=other.score,
        difference=difference,
        low=low,
        high=high,
        # One is added to both, so that draws never claim to be surer than their number allows.
        p=(num_as_far + 1) / (num_samples + 1),
    )


def drawn_scores(counts: NgramCounts, num_samples: int, seed: int) -> Floats:
    """Returns the scores of other tests that might have been, made of these sentences. Shape (R,).

    The same seed draws the same sentences for every system of a test.
    """
    count_NK = counts.count_NK
    return np.array(
        [
            # Sums of whole numbers, so that the order of a draw does not matter.
            counts.score_of(weight_N @ count_NK)
            for weight_N in draws(len(count_NK), num_samples, seed)
        ]
    )


def draws(num_sentences: int, num_samples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yields how often each sentence is in each draw; there are as many as in the test."""
    if num_samples < 1:
        raise DataError(f"num_samples is {num_samples}; at least one draw is needed.")
    generator = np.random.default_rng(seed)
    for _ in range(num_samples):
        place_N = generator.choice(num_sentences, size=num_sentences, replace=True)
        yield np.bincount(place_N, minlength=num_sentences)


def interval(drawn_R: Floats) -> tuple[float, float]:
    """Returns the least and the largest of the draws, without those in the tails."""
    sorted_R = np.sort(drawn_R)
    num_cut = len(sorted_R) // TAIL
    return float(sorted_R[num_cut]), float(sorted_R[len(sorted_R) - num_cut - 1])
