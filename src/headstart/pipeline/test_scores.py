"""What was answered for each item of a test: kept, and scored on the full and the clean test.

Legend: N texts, C labels.
"""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from headstart.checkpoints.tensor_file import write_tensors
from headstart.evaluation.classification import score_labels
from headstart.pipeline.run_files import TEST_FILE


def both_scores(
    probability_NC: NDArray[np.float64],
    target_N: NDArray[np.int64],
    is_clean_N: NDArray[np.bool_],
) -> dict[str, object]:
    """Returns the scores on the full test and on the clean one, None where nothing is clean."""
    clean = None
    if is_clean_N.any():
        clean = asdict(score_labels(probability_NC[is_clean_N], target_N[is_clean_N]))
    return {"full": asdict(score_labels(probability_NC, target_N)), "clean": clean}


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
