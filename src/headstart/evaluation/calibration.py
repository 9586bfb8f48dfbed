"""Whether probabilities mean what they say: their error, and the temperature that mends them.

Legend: N texts, C labels.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from headstart.errors import DataError

Floats = NDArray[np.float64]
AnyFloats = NDArray[np.floating[Any]]
Targets = NDArray[np.integer[Any]]

NUM_BINS = 15
# Beyond these a validation set says nothing more: all separable, or nothing learned.
COLDEST, HOTTEST = 0.05, 20.0
# How far log T is expected to lie from 0 before any item is seen. A few items that are all right
# would be explained ever better by an ever colder T, up to answers of 100 %; that costs too much
# here, while hundreds of items outweigh it.
PRIOR_DEVIATION = 0.5


class ReliabilityBin(NamedTuple):
    """Answers that were given with about the same confidence."""

    num_items: int
    confidence: float
    """The mean of the top probabilities."""
    accuracy: float


def fit_temperature(logits_NC: AnyFloats, target_N: Targets) -> float:
    """Returns the temperature that explains the targets best, near 1 where items are few."""
    require_matching(logits_NC, target_N)
    if not len(target_N):
        return 1.0
    plain_NC = np.asarray(logits_NC, dtype=np.float64)

    def loss(log_temperature: float) -> float:
        log_NC = log_softmax(plain_NC / np.exp(log_temperature), axis=1)
        nats = -float(np.take_along_axis(log_NC, target_N[:, None], axis=1).sum())
        return nats + (log_temperature / PRIOR_DEVIATION) ** 2 / 2

    found = minimize_scalar(
        loss, bounds=(np.log(COLDEST), np.log(HOTTEST)), method="bounded", options={"xatol": 1e-6}
    )
    # The search stops just short of its bounds and may see no slope at all.
    tried = [0.0, float(found.x), float(np.log(COLDEST)), float(np.log(HOTTEST))]
    return float(np.exp(min(tried, key=loss)))


def softened(logits_NC: AnyFloats, temperature: float) -> Floats:
    """Returns the probabilities of the labels at a temperature. Shape (N, C)."""
    if not temperature > 0:
        raise DataError(f"The temperature is {temperature}; it must be above 0.")
    probability_NC: Floats = softmax(np.asarray(logits_NC, dtype=np.float64) / temperature, axis=1)
    return probability_NC


def expected_calibration_error(
    probability_NC: AnyFloats, target_N: Targets, num_bins: int = NUM_BINS
) -> float:
    """Returns how far confidence and accuracy are apart, over bins weighed by their items."""
    bins = reliability(probability_NC, target_N, num_bins)
    apart = sum(part.num_items * abs(part.accuracy - part.confidence) for part in bins)
    return apart / max(1, len(target_N))


def reliability(
    probability_NC: AnyFloats, target_N: Targets, num_bins: int = NUM_BINS
) -> tuple[ReliabilityBin, ...]:
    """Returns the bins of equal width of the top probability that hold items, the least first."""
    require_matching(probability_NC, target_N)
    if not len(target_N):
        return ()
    top_N = np.asarray(probability_NC, dtype=np.float64).max(axis=1)
    is_right_N = np.asarray(probability_NC).argmax(axis=1) == target_N
    # A bin holds its upper edge, so that a probability of 1 falls into the last.
    bin_N = np.clip(np.ceil(top_N * num_bins).astype(int) - 1, 0, num_bins - 1)
    counts = np.bincount(bin_N, minlength=num_bins)
    confidences = np.bincount(bin_N, weights=top_N, minlength=num_bins)
    rights = np.bincount(bin_N, weights=is_right_N, minlength=num_bins)
    return tuple(
        ReliabilityBin(int(count), float(confidence / count), float(right / count))
        for count, confidence, right in zip(counts, confidences, rights, strict=True)
        if count
    )


def require_matching(score_NC: AnyFloats, target_N: Targets) -> None:
    """Raises where scores and targets are not of the same texts, or a target has no column."""
    if score_NC.ndim != 2 or target_N.shape != score_NC.shape[:1]:
        raise DataError(
            f"The scores have the shape {score_NC.shape} and the targets {target_N.shape}; "
            "(texts, labels) and (texts,) are needed."
        )
    if len(target_N) and not 0 <= int(target_N.min()) <= int(target_N.max()) < score_NC.shape[1]:
        raise DataError(
            f"The targets go from {target_N.min()} to {target_N.max()}, but there are "
            f"{score_NC.shape[1]} labels, counted from 0."
        )
