"""The band around a learning curve: where other seeds' curves have their mean.

Legend: S seeds, E epochs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from headstart.errors import DataError
from headstart.evaluation.crossed import CONFIDENCE


@dataclass(frozen=True, kw_only=True)
class SeedBand:
    """A mean curve of shares with 95 % intervals over seeds; the texts are taken as they are."""

    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def seed_band(curves: Sequence[Sequence[float]]) -> SeedBand:
    """Returns the band of one curve a seed; one that ended early stays at its last value."""
    if not curves or not all(curves):
        raise DataError(
            f"There are {len(curves)} curves with {[len(curve) for curve in curves]} epochs; at "
            "least one, with at least one epoch each, is needed."
        )
    num_epochs = max(map(len, curves))
    value_SE = np.array([[*curve, *[curve[-1]] * (num_epochs - len(curve))] for curve in curves])
    mean_E = value_SE.mean(axis=0)
    # One seed has no band of its own.
    half_E = np.zeros(num_epochs)
    if len(curves) > 1:
        quantile = stats.t.ppf((1 + CONFIDENCE) / 2, len(curves) - 1)
        half_E = quantile * value_SE.std(axis=0, ddof=1) / np.sqrt(len(curves))
    return SeedBand(
        mean=tuple(mean_E.tolist()),
        low=tuple(np.maximum(0, mean_E - half_E).tolist()),
        high=tuple(np.minimum(1, mean_E + half_E).tolist()),
    )
