"""What was answered for each item of a test: kept, and scored on the full and the clean test.

Legend: N texts, C labels.
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from headstart.checkpoints.tensor_file import write_tensors
from headstart.evaluation.calibration import expected_calibration_error
from headstart.evaluation.classification import score_labels
from headstart.evaluation.crossed_statistic import Statistic, crossed_statistic, macro_f1
from headstart.pipeline.run_files import TEST_FILE

# Scores that are no means over items; their intervals are too slow to take after every epoch.
STATISTICS: Mapping[str, Statistic] = {
    "macro_f1": macro_f1,
    "calibration_error": expected_calibration_error,
}


def both_scores(
    probability_NC: NDArray[np.float64],
    target_N: NDArray[np.int64],
    is_clean_N: NDArray[np.bool_],
) -> dict[str, object]:
    """Returns the scores on the full test and on the clean one, None where nothing is clean."""
    clean = None
    if is_clean_N.any():
        clean = scores_on(probability_NC[is_clean_N], target_N[is_clean_N])
    return {"full": scores_on(probability_NC, target_N), "clean": clean}


def scores_on(
    probability_NC: NDArray[np.float64], target_N: NDArray[np.int64]
) -> dict[str, object]:
    """Returns the scores on a test with an interval for each share; None from a single item."""
    found: dict[str, object] = asdict(score_labels(probability_NC, target_N))
    for name, statistic in STATISTICS.items():
        low, high = None, None
        if len(target_N) > 1:
            around = crossed_statistic(statistic, probability_NC[None], target_N)
            low, high = around.low, around.high
        found |= {f"{name}_low": low, f"{name}_high": high}
    return found


def write_test(
    folder: Path,
    probability_NC: NDArray[np.float64],
    target_N: NDArray[np.int64],
    is_clean_N: NDArray[np.bool_],
) -> None:
    """Keeps what was answered for each item of a test, in its order."""
    write_tensors(
        folder / TEST_FILE,
        {
            "probabilities": torch.from_numpy(probability_NC).float(),
            "targets": torch.from_numpy(target_N),
            "clean": torch.from_numpy(is_clean_N).to(torch.uint8),
        },
    )
