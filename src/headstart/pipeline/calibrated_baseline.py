"""A baseline that was fitted to examples, and is as sure as it should be by their validation part.

Legend: N texts, C labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headstart.corpora.examples import Example
from headstart.evaluation.baselines import BASELINES
from headstart.evaluation.baselines.baseline import Baseline
from headstart.evaluation.calibration import Floats, fit_temperature, softened
from headstart.evaluation.classification import LEAST_PROBABILITY
from headstart.pipeline.examples import Labelled


@dataclass(frozen=True)
class CalibratedBaseline:
    """A baseline and by what its scores are divided."""

    fitted: Baseline
    temperature: float

    def probabilities(self, texts: Sequence[str]) -> Floats:
        """Returns the probability of each label for each text. Shape (N, C)."""
        return softened(log_probabilities(self.fitted.probabilities(texts)), self.temperature)


def fit_baseline(kind: str, labelled: Labelled, seed: int) -> CalibratedBaseline:
    """Fits a baseline to the training examples; validation chooses its strength and temperature."""
    (texts, targets), (valid_texts, valid_targets) = (
        texts_and_targets(examples, labelled.labels)
        for examples in (labelled.train, labelled.valid)
    )
    fitted = BASELINES[kind](texts, targets, valid_texts, valid_targets, len(labelled.labels), seed)
    valid_NC = log_probabilities(fitted.probabilities(valid_texts))
    return CalibratedBaseline(fitted, fit_temperature(valid_NC, np.array(valid_targets)))


def texts_and_targets(
    examples: list[Example], labels: tuple[str, ...]
) -> tuple[list[str], list[int]]:
    """Returns texts and the numbers of their labels."""
    number_of = {label: number for number, label in enumerate(labels)}
    return [each.text for each in examples], [number_of[each.label] for each in examples]


def log_probabilities(probability_NC: Floats) -> Floats:
    """Returns what a temperature can be applied to, as to a network's scores. Shape (N, C)."""
    log_NC: Floats = np.log(np.maximum(probability_NC, LEAST_PROBABILITY))
    return log_NC
