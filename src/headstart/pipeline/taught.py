"""What teachers answered for texts without labels, kept in a run that learns from it.

With the answers kept, a run goes on without its teachers, and as if it had never been stopped.

Legend: N texts, C labels.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headstart.checkpoints.tensor_file import read_tensors, write_tensors
from headstart.corpora.documents import Reading
from headstart.corpora.tables import source_sha256
from headstart.errors import DamagedFileError, RunError
from headstart.files import read_sealed_json
from headstart.pipeline.run_files import EXAMPLES_FILE, TAUGHT_FILE
from headstart.pipeline.unlabelled import numbered
from headstart.pipeline.watch import Watch


@dataclass(frozen=True, kw_only=True)
class Taught:
    """Texts without labels, and how likely each label is to their teachers."""

    texts: list[str]
    names: list[str]
    numbers: list[int]
    """Which of all documents of the files each text is."""
    probability_NC: NDArray[np.float32]
    facts: dict[str, Any]
    """Files with their SHA-256, teachers, and what was left out."""
    teachers_seen: frozenset[bytes] = frozenset()
    """The fingerprints of what the teachers have learned from or chosen by."""

    @property
    def sources(self) -> dict[str, str]:
        """The SHA-256 of each file of texts."""
        return dict(self.facts["sources"])


def write_taught(folder: Path, taught: Taught) -> dict[str, Any]:
    """Writes the answers, and returns what the note on a run's examples must say of them."""
    tensors = {
        "numbers": torch.tensor(taught.numbers),
        "probabilities": torch.from_numpy(taught.probability_NC),
    }
    return taught.facts | {"sha256": write_tensors(folder / TAUGHT_FILE, tensors)}


def read_teaching(folder: Path) -> dict[str, Any] | None:
    """Returns what a run's note says of its teachers; nothing where it had none."""
    value = read_sealed_json(folder / EXAMPLES_FILE)
    teaching = value.get("teaching") if isinstance(value, dict) else None
    if teaching is not None and not isinstance(teaching, dict):
        raise DamagedFileError(f"{folder / EXAMPLES_FILE} does not describe a teaching.")
    return teaching


def read_taught(folder: Path, reading: Reading, watch: Watch) -> Taught | None:
    """Reads what a run was taught; the texts must be what they were when it was answered."""
    teaching = read_teaching(folder)
    if teaching is None:
        return None
    paths = [Path(path) for path in teaching["sources"]]
    for path in paths:
        if source_sha256(path) != teaching["sources"][str(path)]:
            raise RunError(
                f"{path} changed since the run began, and its teachers answered for what it held "
                "then. Restore it, or begin another run."
            )
    tensors = read_tensors(folder / TAUGHT_FILE, teaching["sha256"])
    numbers = tensors["numbers"].tolist()
    reading = replace(reading, text_column=teaching["text_column"])
    documents = numbered(watch.read(paths, reading, "Reading texts without labels"), numbers)
    return Taught(
        texts=[document.plain for document in documents],
        names=[str(document.place) for document in documents],
        numbers=numbers,
        probability_NC=tensors["probabilities"].numpy(),
        facts={name: value for name, value in teaching.items() if name != "sha256"},
    )
