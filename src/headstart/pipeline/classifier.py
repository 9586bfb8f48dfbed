"""A classifier's run at work: texts of any number to the probability of each label.

Legend: N texts, C labels, D width.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headstart.errors import DamagedFileError
from headstart.models.single_row import SingleRow, new_single_row
from headstart.pipeline.learner import ShouldStop, never
from headstart.pipeline.run_files import RESULTS_FILE, is_finished, read_recipe, read_results
from headstart.pipeline.run_folder import Run, load_run
from headstart.pipeline.text_rows import TextReader, reader_of, transfer_of
from headstart.pipeline.text_vectors import text_vectors, text_vectors_one_by_one
from headstart.training.config import Precision
from headstart.training.precision import products_in

# Texts among which those of like length are read together; of long ones fewer, so that neither
# very many texts nor very long ones fill the memory.
NUM_TEXTS_AT_ONCE = 4_096
NUM_LETTERS_AT_ONCE = 4 << 20

Numbers = NDArray[np.float32]


@dataclass(frozen=True)
class Classifier:
    """A run that knows labels, and how sure it is in truth where it seems sure."""

    run: Run
    temperature: float
    precision: Precision = "fp32"
    """In which products are done: bf16 is faster on what is made for it, and rounds more."""

    @cached_property
    def reader(self) -> TextReader:
        """How texts are read."""
        return reader_of(self.run)

    @cached_property
    def single_row(self) -> SingleRow | None:
        """The trunk made ready for single rows; None where they are better read as others are."""
        return new_single_row(self.run.model.trunk) if self.precision == "fp32" else None

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels in the order of the probabilities."""
        return transfer_of(self.run.folder, self.run.recipe).labels


def load_classifier(folder: Path, device: str, precision: Precision = "fp32") -> Classifier:
    """Loads a classifier, or its best weights so far where it is still learning."""
    transfer_of(folder, read_recipe(folder))
    return Classifier(load_run(folder, device), read_temperature(folder), precision)


def read_temperature(folder: Path) -> float:
    """Returns by what a run's logits are divided; an unfinished run has not found that out."""
    if not is_finished(folder):
        return 1.0
    temperature = read_results(folder).get("temperature")
    if not isinstance(temperature, int | float) or not 0 < temperature < float("inf"):
        raise DamagedFileError(
            f"{folder / RESULTS_FILE} has the temperature {temperature!r}, which must be a number "
            "above 0. Restore it from a copy, or transfer again."
        )
    return float(temperature)


def probabilities(
    classifier: Classifier, texts: Iterable[str], should_stop: ShouldStop = never
) -> Iterator[Numbers]:
    """Yields the probability of each label for each text, in order. Shape (C,)."""
    for vectors in vectors_of_parts(classifier, texts, should_stop):
        yield from judged(classifier, vectors)


def vectors_of(classifier: Classifier, texts: Iterable[str]) -> Iterator[Numbers]:
    """Yields the vector by which each text is judged, in order. Shape (D,)."""
    for vectors in vectors_of_parts(classifier, texts):
        yield from vectors.float().cpu().numpy()


@torch.inference_mode()
def judged(classifier: Classifier, vector_ND: Tensor) -> Numbers:
    """Returns the probability of each label for texts that have been read. Shape (N, C)."""
    logits_NC = classifier.run.model.head.output(vector_ND).float() / classifier.temperature
    probability_NC: Numbers = logits_NC.softmax(dim=1).cpu().numpy()
    return probability_NC


def vectors_of_parts(
    classifier: Classifier, texts: Iterable[str], should_stop: ShouldStop = never
) -> Iterator[Tensor]:
    """Yields the vectors of some thousand texts at a time. Shape (N, D)."""
    model = classifier.run.model
    device = str(next(model.parameters()).device)
    for part in parts_of(texts):
        rows = classifier.reader.rows_of_all(part, torch.get_num_threads())
        single_row = classifier.single_row
        if single_row is not None and single_row.is_current:
            yield text_vectors_one_by_one(model.head, single_row, rows, should_stop)
            continue
        with products_in(classifier.precision, device):
            vector_ND = text_vectors(model, rows, should_stop)
        yield vector_ND


def parts_of(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yields texts as many at a time as are held at once."""
    part: list[str] = []
    num_letters = 0
    for text in texts:
        part.append(text)
        num_letters += len(text)
        if len(part) == NUM_TEXTS_AT_ONCE or num_letters >= NUM_LETTERS_AT_ONCE:
            yield part
            part, num_letters = [], 0
    if part:
        yield part
