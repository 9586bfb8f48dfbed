"""Two ways to a translator, each from several seeds: what both score, and how far apart."""

from collections.abc import Sequence
from dataclasses import dataclass

from headstart.evaluation.crossed import CrossedMean
from headstart.evaluation.ngram_counts import MetricName, count_ngrams
from headstart.evaluation.translation_seeds import (
    BySeed,
    crossed_score,
    crossed_score_difference,
)


@dataclass(frozen=True, kw_only=True)
class ComparedScore:
    """One score of both systems; in points, with 95 % intervals over seeds and sentences."""

    of: CrossedMean
    to: CrossedMean
    difference: CrossedMean
    """Of the first minus the second, with the same seeds on the same sentences."""
    of_by_seed: tuple[float, ...]
    to_by_seed: tuple[float, ...]
    signature: str


@dataclass(frozen=True, kw_only=True)
class TranslatorComparison:
    """What the two systems are worth on one test."""

    bleu: ComparedScore
    chrf: ComparedScore
    num_seeds: int
    num_sentences: int


def compare_systems(of: BySeed, to: BySeed, references: Sequence[str]) -> TranslatorComparison:
    """Returns both scores of two systems from their translations of one test by each seed."""
    return TranslatorComparison(
        bleu=compared_score("bleu", of, to, references),
        chrf=compared_score("chrf", of, to, references),
        num_seeds=len(of),
        num_sentences=len(references),
    )


def compared_score(
    metric: MetricName, of: BySeed, to: BySeed, references: Sequence[str]
) -> ComparedScore:
    """Returns one score of two systems, and their difference."""
    counted = [[count_ngrams(metric, one, references) for one in side] for side in (of, to)]
    return ComparedScore(
        difference=crossed_score_difference(metric, of, to, references),
        of=crossed_score(metric, of, references),
        to=crossed_score(metric, to, references),
        of_by_seed=tuple(one.score for one in counted[0]),
        to_by_seed=tuple(one.score for one in counted[1]),
        signature=counted[0][0].signature,
    )
