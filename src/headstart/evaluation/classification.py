"""How well labels are found: accuracy with its interval, macro-F1, calibration, confusion.

Legend: N texts, C labels.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import confusion_matrix, f1_score

from headstart.errors import DataError
from headstart.evaluation.calibration import (
    AnyFloats,
    Targets,
    expected_calibration_error,
    require_matching,
)
from headstart.evaluation.intervals import share_interval

# A probability of 0 for what was true would cost infinitely much.
LEAST_PROBABILITY = 1e-12


@dataclass(frozen=True, kw_only=True)
class LabelScores:
    """What one classifier scored on one set of examples; shares are fractions."""

    accuracy: float
    accuracy_low: float
    """Wilson's interval with 95 % confidence: of this classifier, over other such texts."""
    accuracy_high: float
    macro_f1: float
    calibration_error: float
    loss: float
    """Nats for each text."""
    num_items: int
    confusion: tuple[tuple[int, ...], ...]
    """How many texts of each true label (rows) were given each label (columns)."""


def score_labels(probability_NC: AnyFloats, target_N: Targets) -> LabelScores:
    """Returns the scores of the most probable labels; labels that never occur count too."""
    require_matching(probability_NC, target_N)
    num_items, num_labels = probability_NC.shape
    if not num_items:
        raise DataError("There are 0 examples to score; at least one is needed.")
    if not np.isfinite(probability_NC).all():
        place = int(np.argmin(np.isfinite(probability_NC).all(axis=1)))
        raise DataError(
            f"The probabilities of example {place + 1} of {num_items} are {probability_NC[place]}; "
            "numbers are needed. The classifier has diverged: train it with a lower rate."
        )
    predicted_N = probability_NC.argmax(axis=1)
    true_probability_N = np.take_along_axis(probability_NC, target_N[:, None], axis=1)
    num_right = int((predicted_N == target_N).sum())
    low, high = share_interval(num_right, num_items)
    labels = np.arange(num_labels)
    table = confusion_matrix(target_N, predicted_N, labels=labels)
    return LabelScores(
        accuracy=num_right / num_items,
        accuracy_low=low,
        accuracy_high=high,
        macro_f1=float(
            f1_score(target_N, predicted_N, labels=labels, average="macro", zero_division=0)
        ),
        calibration_error=expected_calibration_error(probability_NC, target_N),
        loss=-float(np.log(np.maximum(true_probability_N, LEAST_PROBABILITY)).mean()),
        num_items=num_items,
        confusion=tuple(tuple(row) for row in table.tolist()),
    )
