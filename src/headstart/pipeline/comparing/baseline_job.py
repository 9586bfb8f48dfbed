"""A baseline as a job: fitted, calibrated and scored like a network, in files like a run's.

Legend: N texts, C labels.
"""

import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from headstart.corpora.examples import Example
from headstart.evaluation.baselines import BASELINES
from headstart.evaluation.calibration import Floats, fit_temperature, softened
from headstart.evaluation.classification import LEAST_PROBABILITY, score_labels
from headstart.files import sha256_of, sweep, write_json, write_sealed_json
from headstart.pipeline.examples import ExamplesConfig, Labelled, example_hashes, read_labelled
from headstart.pipeline.run_files import MANIFEST_FILE, RESULTS_FILE, TEST_FILE
from headstart.pipeline.seen import clean_items, write_seen
from headstart.pipeline.test_scores import both_scores, write_test


def run_baseline(kind: str, config: ExamplesConfig, folder: Path) -> None:
    """Fits a baseline and writes what it is worth; the manifest last, as a run does."""
    sweep(folder)
    started_at = time.monotonic()
    labelled = read_labelled(config)
    # One thread, as a network's job has, and so the same sums on any machine.
    with threadpool_limits(limits=1):
        results = fitted_results(kind, labelled, config.draw, folder)
    write_json(folder / RESULTS_FILE, results | {"seconds": time.monotonic() - started_at})
    files = {name: sha256_of(folder / name) for name in (RESULTS_FILE, TEST_FILE)}
    manifest = {"files": files, "sources": example_hashes(config)}
    write_sealed_json(folder / MANIFEST_FILE, manifest)


def fitted_results(kind: str, labelled: Labelled, seed: int, folder: Path) -> dict[str, object]:
    """Fits, chooses the temperature on validation, and scores the test once."""
    (texts, targets), (valid_texts, valid_targets), (test_texts, test_targets) = (
        texts_and_targets(examples, labelled.labels)
        for examples in (labelled.train, labelled.valid, labelled.test)
    )
    fitted = BASELINES[kind](texts, targets, valid_texts, valid_targets, len(labelled.labels), seed)
    valid_NC = log_probabilities(fitted.probabilities(valid_texts))
    temperature = fit_temperature(valid_NC, np.array(valid_targets))
    valid = score_labels(softened(valid_NC, temperature), np.array(valid_targets))
    probability_NC = softened(log_probabilities(fitted.probabilities(test_texts)), temperature)
    write_seen(folder, labelled.pool)
    is_clean_N = np.array(clean_items(folder, labelled.test))
    write_test(folder, probability_NC, np.array(test_targets), is_clean_N)
    return {
        "settings": dict(fitted.settings),
        "temperature": temperature,
        "valid": asdict(valid),
        "test": both_scores(probability_NC, np.array(test_targets), is_clean_N),
    }


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
