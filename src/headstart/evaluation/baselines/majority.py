"""Always the most common label: what can be had without reading a word."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headstart.evaluation.baselines.baseline import Probabilities, smoothed_shares


@dataclass(frozen=True)
class Majority:
    """The shares of the labels in training, the same for every text."""

    shares: Probabilities

    @property
    def settings(self) -> Mapping[str, object]:
        """The label that is always answered."""
        return {"label": int(self.shares.argmax())}

    def probabilities(self, texts: Sequence[str]) -> Probabilities:
        """Returns the probability of each label for each text. Shape (N, C)."""
        return np.tile(self.shares, (len(texts), 1))


def fit(
    _texts: Sequence[str],
    targets: Sequence[int],
    _valid_texts: Sequence[str],
    _valid_targets: Sequence[int],
    num_labels: int,
    _seed: int,
) -> Majority:
    """Counts the labels of the training examples."""
    return Majority(smoothed_shares(targets, num_labels))
