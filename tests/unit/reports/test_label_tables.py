"""A classifier's tables: each share with its interval where there is one."""

from pathlib import Path

import numpy as np
import pytest

from headstart.pipeline.test_scores import both_scores
from headstart.reports.label_tables import evaluation_tables, score_cells


@pytest.fixture(scope="module")
def found():
    generator = np.random.default_rng(0)
    probabilities = generator.dirichlet([1, 1], 200)
    targets = generator.integers(0, 2, 200)
    return both_scores(probabilities, targets, np.arange(200) < 1)


def test_every_share_of_a_test_has_its_interval(found):
    (table, *_) = evaluation_tables(Path("run"), found, ("no", "yes"))
    full, clean = table.rows
    for name, cell in zip(("accuracy", "macro_f1", "calibration_error"), full[2:5], strict=True):
        share, low, high = (100 * found["full"][f"{name}{end}"] for end in ("", "_low", "_high"))
        assert cell == f"{share:.1f} % ({low:.1f} to {high:.1f})"
    assert "(" in clean[2]
    assert "(" not in "".join(clean[3:])


def test_validation_has_an_interval_of_its_accuracy_alone(found):
    kept = {
        name: value
        for name, value in found["full"].items()
        if name.startswith("accuracy") or not name.endswith(("_low", "_high"))
    }
    _, accuracy, f1, error, _ = score_cells(kept)
    assert "(" in accuracy
    assert "(" not in f1 + error
