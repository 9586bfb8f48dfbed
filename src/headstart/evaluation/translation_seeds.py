"""How sure BLEU and chrF are when other seeds and other sentences might have been drawn.

Neither is a mean over sentences, so that groups of them are left out in turn (a jackknife); seeds
and sentences are crossed, as each seed translates every sentence.
Legend: S seeds, N sentences, G groups of sentences, K counts of a sentence.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from headstart.errors import DataError
from headstart.evaluation.crossed import CrossedMean, around, crossed_spread
from headstart.evaluation.crossed_statistic import item_groups
from headstart.evaluation.ngram_counts import Floats, MetricName, NgramCounts, count_ngrams

# The translations of a test by each seed, in one order.
BySeed = Sequence[Sequence[str]]
# Intervals are taken of shares; scores are told from 0 to 100.
POINTS = 100
LEAST_SENTENCES = 2


def crossed_score(metric: MetricName, by_seed: BySeed, references: Sequence[str]) -> CrossedMean:
    """Returns the mean score over seeds, in points, with its 95 % interval."""
    require_enough(by_seed, references)
    counted = [count_ngrams(metric, one, references) for one in by_seed]
    whole_S = np.array([one.score for one in counted])
    found = crossed(whole_S, np.stack([scores_without(one) for one in counted]), len(references))
    return replace(found, low=max(0.0, found.low), high=min(float(POINTS), found.high))


def crossed_score_difference(
    metric: MetricName, of: BySeed, to: BySeed, references: Sequence[str]
) -> CrossedMean:
    """Returns by how many points one system is above another over the same seeds and sentences."""
    if len(of) != len(to):
        raise DataError(
            f"One system was trained from {len(of)} seeds and the other from {len(to)}; the same "
            "seeds are needed to compare them."
        )
    require_enough(of, references)
    pairs = [
        (count_ngrams(metric, one, references), count_ngrams(metric, other, references))
        for one, other in zip(of, to, strict=True)
    ]
    whole_S = np.array([one.score - other.score for one, other in pairs])
    without_SG = np.stack([scores_without(one) - scores_without(other) for one, other in pairs])
    return crossed(whole_S, without_SG, len(references))


def crossed(whole_S: Floats, without_SG: Floats, num_sentences: int) -> CrossedMean:
    """Returns the mean of a value over seeds, given also what it is without each group."""
    num_groups = without_SG.shape[1]
    # Tukey's pseudo-values: what each group adds, as if the score were a mean over groups.
    pseudo_SG = (num_groups * whole_S[:, None] - (num_groups - 1) * without_SG) / POINTS
    shape = len(whole_S), num_sentences
    found = around(float(whole_S.mean()) / POINTS, crossed_spread(pseudo_SG), shape)
    return replace(
        found, mean=POINTS * found.mean, low=POINTS * found.low, high=POINTS * found.high
    )


def scores_without(counts: NgramCounts) -> Floats:
    """Returns the score of the sentences that are in all groups but one. Shape (G,)."""
    sum_K = counts.count_NK.sum(axis=0)
    groups = item_groups(len(counts.count_NK))
    return np.array(
        [counts.score_of(sum_K - counts.count_NK[group].sum(axis=0)) for group in groups]
    )


def require_enough(by_seed: BySeed, references: Sequence[str]) -> None:
    """Raises where there is no seed, or no two sentences to tell apart."""
    if not by_seed or len(references) < LEAST_SENTENCES:
        raise DataError(
            f"There are {len(by_seed)} seeds and {len(references)} sentences; at least one seed "
            f"and {LEAST_SENTENCES} sentences are needed for an interval."
        )
