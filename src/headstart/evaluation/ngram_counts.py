"""BLEU and chrF as sacreBLEU counts them: n-grams sentence by sentence, then one score of all.

Sums over other draws of the sentences give the scores of those draws without counting again.
Legend: N sentences, K counts of a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from headstart.errors import DataError

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

Floats = NDArray[np.float64]
MetricName = Literal["bleu", "chrf"]


@dataclass(frozen=True, kw_only=True)
class NgramCounts:
    """What one system's sentences share with the references."""

    count_NK: Floats
    score_of: Callable[[Floats], float]
    """The score, from 0 to 100, of the sums of counts. Shape (K,)."""
    signature: str
    """How it was counted, in sacreBLEU's words."""

    @property
    def score(self) -> float:
        """The score of all sentences."""
        return self.score_of(self.count_NK.sum(axis=0))


def count_ngrams(
    name: MetricName, hypotheses: Sequence[str], references: Sequence[str]
) -> NgramCounts:
    """Counts what a score needs, with one reference for each sentence."""
    require_sentences(hypotheses, references)
    metric = METRICS[name]()
    # sacreBLEU resamples these counts itself, but offers them by no public name.
    counts = metric._extract_corpus_statistics(hypotheses, [references])

    def score_of(count_K: Floats) -> float:
        return float(metric._compute_score_from_stats(count_K.tolist()).score)

    return NgramCounts(
        count_NK=np.array(counts, dtype=np.float64),
        score_of=score_of,
        signature=str(metric.get_signature()),
    )


def new_bleu() -> Metric:
    """Returns BLEU with case, cut by 13a: what published scores are."""
    # Imported here: commands that score nothing need not wait for it.
    from sacrebleu.metrics.bleu import BLEU

    # Forced, since it would otherwise write to the terminal that text seems to be cut already.
    return BLEU(tokenize="13a", force=True)


def new_chrf() -> Metric:
    """Returns chrF2: n-grams of up to six letters, recall counting twice."""
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()


METRICS: Mapping[MetricName, Callable[[], Metric]] = {"bleu": new_bleu, "chrf": new_chrf}


def require_sentences(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Raises where sentences have no reference each, or there are none."""
    if len(hypotheses) != len(references):
        raise DataError(
            f"There are {len(hypotheses):,} translations and {len(references):,} references; "
            "each translation needs its own."
        )
    if not len(references):
        raise DataError("There are 0 translations to score; at least one is needed.")
