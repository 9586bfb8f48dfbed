"""A baseline as a job: fitted, calibrated and scored like a network, in files like a run's.

Legend: N texts, C labels.
"""

import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from headstart.evaluation.classification import score_labels
from headstart.files import sha256_of, sweep, write_json, write_sealed_json
from headstart.pipeline.calibrated_baseline import fit_baseline, texts_and_targets
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
    (valid_texts, valid_targets), (test_texts, test_targets) = (
        texts_and_targets(examples, labelled.labels) for examples in (labelled.valid, labelled.test)
    )
    baseline = fit_baseline(kind, labelled, seed)
    valid = score_labels(baseline.probabilities(valid_texts), np.array(valid_targets))
    probability_NC = baseline.probabilities(test_texts)
    write_seen(folder, labelled.pool)
    is_clean_N = np.array(clean_items(folder, labelled.test))
    write_test(folder, probability_NC, np.array(test_targets), is_clean_N)
    return {
        "settings": dict(baseline.fitted.settings),
        "temperature": baseline.temperature,
        "valid": asdict(valid),
        "test": both_scores(probability_NC, np.array(test_targets), is_clean_N),
    }
