"""What every baseline gives: probabilities for texts, and what it chose for itself."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Probabilities = NDArray[np.float64]


class Baseline(Protocol):
    """A classifier that was fitted to examples."""

    @property
    def settings(self) -> Mapping[str, object]:
        """What was chosen on validation, and what was fixed."""

    def probabilities(self, texts: Sequence[str]) -> Probabilities:
        """Returns the probability of each label for each text. Shape (N, C)."""


# Training texts and targets, validation texts and targets, the number of labels, a seed.
Fit = Callable[[Sequence[str], Sequence[int], Sequence[str], Sequence[int], int, int], Baseline]


def smoothed_shares(targets: Sequence[int], num_labels: int) -> Probabilities:
    """Returns how likely each label is, one more counted of each so that none is impossible."""
    counts = np.bincount(np.asarray(targets, dtype=np.int64), minlength=num_labels)
    shares: Probabilities = (counts + 1) / (len(targets) + num_labels)
    return shares
