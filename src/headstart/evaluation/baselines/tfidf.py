"""Words and characters, weighed by how rare they are, with logistic regression on top.

The best honest line that needs no pretraining; its strength is chosen on validation alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion

from headstart.errors import DataError
from headstart.evaluation.baselines.baseline import Probabilities, smoothed_shares

# How little the weights are held back: tried from the smallest, so that of equals it is taken.
STRENGTHS = (0.1, 1.0, 10.0, 100.0)
WORD_RANGE, CHARACTER_RANGE = (1, 2), (2, 5)
# Far more than were ever needed (31); few classes and much text still end by themselves.
MOST_STEPS = 10_000

Targets = NDArray[np.int64]


@dataclass(frozen=True)
class Tfidf:
    """The words and characters of the training texts, and a weight of each for each label."""

    features: FeatureUnion
    regression: LogisticRegression | None
    """Nothing where all training texts have one label, from which nothing can be told."""
    shares: Probabilities
    valid_accuracy: float

    @property
    def settings(self) -> Mapping[str, object]:
        """The strength that was chosen, and what was fixed."""
        return {
            "strength": None if self.regression is None else float(self.regression.C),
            "strengths": list(STRENGTHS),
            "valid_accuracy": self.valid_accuracy,
            "words": list(WORD_RANGE),
            "characters": list(CHARACTER_RANGE),
            "num_features": sum(
                len(part.vocabulary_) for _, part in self.features.transformer_list
            ),
        }

    def probabilities(self, texts: Sequence[str]) -> Probabilities:
        """Returns the probability of each label for each text. Shape (N, C)."""
        if self.regression is None:
            return np.tile(self.shares, (len(texts), 1))
        known = self.regression.predict_proba(self.features.transform(texts))
        return with_unseen(known, self.regression.classes_, self.shares)


def fit(
    texts: Sequence[str],
    targets: Sequence[int],
    valid_texts: Sequence[str],
    valid_targets: Sequence[int],
    num_labels: int,
    _seed: int,
) -> Tfidf:
    """Fits one regression a strength to the training texts, and keeps the best on validation."""
    features, target_N = new_features(), np.asarray(targets, dtype=np.int64)
    try:
        train_NF = features.fit_transform(texts)
    except ValueError as error:  # an empty vocabulary
        raise DataError(
            f"The {len(texts):,} training texts hold no words to be counted. Give texts with words."
        ) from error
    shares = smoothed_shares(targets, num_labels)
    valid_MF, valid_target_M = features.transform(valid_texts), np.asarray(valid_targets)
    if len(np.unique(target_N)) == 1:
        accuracy = float((valid_target_M == target_N[0]).mean())
        return Tfidf(features, None, shares, accuracy)
    tried = [fitted(train_NF, target_N, strength) for strength in STRENGTHS]
    accuracies = [float(each.score(valid_MF, valid_target_M)) for each in tried]
    best = int(np.argmax(accuracies))
    return Tfidf(features, tried[best], shares, accuracies[best])


def new_features() -> FeatureUnion:
    """Returns the counting of words and of characters, each brought to one length a text."""
    return FeatureUnion(
        [
            ("words", TfidfVectorizer(ngram_range=WORD_RANGE, sublinear_tf=True)),
            # Inside words: as good as across them on CLS-books, and a third faster.
            (
                "characters",
                TfidfVectorizer(analyzer="char_wb", ngram_range=CHARACTER_RANGE, sublinear_tf=True),
            ),
        ]
    )


def fitted(features_NF: Any, target_N: Targets, strength: float) -> LogisticRegression:
    """Returns a regression of one strength; it starts from zero, so nothing is drawn."""
    return LogisticRegression(C=strength, max_iter=MOST_STEPS).fit(features_NF, target_N)


def with_unseen(known_NK: Any, labels_K: Any, shares: Probabilities) -> Probabilities:
    """Returns probabilities of all labels, those never seen in training with their small share."""
    all_NC = np.tile(shares, (len(known_NK), 1))
    seen_share = float(shares[labels_K].sum())
    all_NC[:, labels_K] = known_NK * seen_share
    return all_NC
