"""What every system answered for every test item, read from the folders of finished jobs.

Legend: S seeds, N items, C labels.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headstart.checkpoints.tensor_file import read_tensors
from headstart.errors import DamagedFileError
from headstart.evaluation.calibration import Floats
from headstart.pipeline.run_files import TEST_FILE
from headstart.pipeline.run_folder import recorded_sha256
from headstart.transfers.difference import TestKind
from headstart.transfers.sweep import Job

Place = tuple[str, int]
"""The key of a system and its number of labels."""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The probabilities of each system at each size, on one test for all."""

    probabilities: Mapping[Place, Floats]
    """Shape (S, N, C), the seeds in their order."""
    target_N: NDArray[np.int64]
    is_clean_N: NDArray[np.bool_]

    def answered(self, place: Place, test: TestKind) -> Floats:
        """Returns what was answered for the full test or the clean one. Shape (S, N, C)."""
        probability_SNC = self.probabilities[place]
        return probability_SNC if test == "full" else probability_SNC[:, self.is_clean_N]

    def targets(self, test: TestKind) -> NDArray[np.int64]:
        """Returns the right answers. Shape (N,)."""
        return self.target_N if test == "full" else self.target_N[self.is_clean_N]

    def right(self, place: Place, test: TestKind) -> NDArray[np.bool_]:
        """Returns where the most probable label is the right one. Shape (S, N)."""
        right_SN: NDArray[np.bool_] = self.answered(place, test).argmax(axis=-1) == self.targets(
            test
        )
        return right_SN

    def sizes(self, system: str) -> list[int]:
        """Returns the numbers of labels that a system was tried with."""
        return sorted(size for key, size in self.probabilities if key == system)


def read_answers(jobs: Sequence[Job], folder: Path, is_clean_N: NDArray[np.bool_]) -> Answers:
    """Reads the answers of finished jobs; all must be of the same test."""
    found: dict[Place, list[Floats]] = defaultdict(list)
    target_N: NDArray[np.int64] | None = None
    for job in sorted(jobs, key=lambda job: job.seed):
        home = folder / job.name
        tensors = read_tensors(home / TEST_FILE, recorded_sha256(home, TEST_FILE))
        seen_N = tensors["targets"].numpy()
        target_N = seen_N if target_N is None else target_N
        if len(seen_N) != len(is_clean_N) or (seen_N != target_N).any():
            raise DamagedFileError(
                f"{home / TEST_FILE} answers another test than the other jobs. Remove {home}, and "
                "compare again."
            )
        found[job.system.key, job.size].append(tensors["probabilities"].double().numpy())
    assert target_N is not None
    return Answers(
        probabilities={place: np.stack(parts) for place, parts in found.items()},
        target_N=target_N,
        is_clean_N=is_clean_N,
    )
