"""A classifier's run at work: texts of any number to the probability of each label.

Legend: N texts, R rows, C labels, D width.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headstart.errors import DamagedFileError
from headstart.objectives.labels import TextRows, window_shares
from headstart.pipeline.feeding import as_text, device_of
from headstart.pipeline.run_files import RESULTS_FILE, is_finished, read_recipe, read_results
from headstart.pipeline.run_folder import Run, load_run
from headstart.pipeline.text_rows import TextReader, reader_of, transfer_of

# Texts among which those of like length are read together; of long ones fewer, so that neither
# very many texts nor very long ones fill the memory.
NUM_TEXTS_AT_ONCE = 4_096
NUM_LETTERS_AT_ONCE = 4 << 20
# Positions of one batch, padding included: more gain nothing on a processor, whose cache they fill.
NUM_POSITIONS_PER_BATCH = 4_096

Numbers = NDArray[np.float32]


@dataclass(frozen=True)
class Classifier:
    """A run that knows labels, and how sure it is in truth where it seems sure."""

    run: Run
    temperature: float

    @cached_property
    def reader(self) -> TextReader:
        """How texts are read."""
        return reader_of(self.run)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels in the order of the probabilities."""
        return transfer_of(self.run.folder, self.run.recipe).labels


def load_classifier(folder: Path, device: str) -> Classifier:
    """Loads a classifier, or its best weights so far where it is still learning."""
    transfer_of(folder, read_recipe(folder))
    return Classifier(load_run(folder, device), read_temperature(folder))


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


def probabilities(classifier: Classifier, texts: Iterable[str]) -> Iterator[Numbers]:
    """Yields the probability of each label for each text, in order. Shape (C,)."""
    for vectors in vectors_of_parts(classifier, texts):
        yield from judged(classifier, vectors)


def text_vectors(classifier: Classifier, texts: Iterable[str]) -> Iterator[Numbers]:
    """Yields the vector by which each text is judged, in order. Shape (D,)."""
    for vectors in vectors_of_parts(classifier, texts):
        yield from vectors.float().cpu().numpy()


@torch.inference_mode()
def judged(classifier: Classifier, vector_ND: Tensor) -> Numbers:
    """Returns the probability of each label for texts that have been read. Shape (N, C)."""
    logits_NC = classifier.run.model.head.output(vector_ND).float() / classifier.temperature
    probability_NC: Numbers = logits_NC.softmax(dim=1).cpu().numpy()
    return probability_NC


def vectors_of_parts(classifier: Classifier, texts: Iterable[str]) -> Iterator[Tensor]:
    """Yields the vectors of some thousand texts at a time. Shape (N, D)."""
    for part in parts_of(texts):
        yield pooled(classifier.run, classifier.reader.rows_of_all(part))


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


@torch.inference_mode()
def pooled(run: Run, texts: Sequence[TextRows]) -> Tensor:
    """Returns one vector for each text; rows of like length are read together. Shape (N, D)."""
    rows = list(chain.from_iterable(texts))
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    vector_RD = torch.empty(len(rows), run.model.trunk.config.width, device=device_of(run))
    for places in batches([len(rows[place]) for place in order]):
        batch = [order[place] for place in places]
        text = as_text(run, [rows[place] for place in batch])
        vector_RD[batch] = run.model.head.pool(run.model.trunk(text), text).float()
    if len(rows) == len(texts):
        return vector_RD
    ends = np.cumsum([0, *map(len, texts)]).tolist()
    joined = [
        window_shares([text]).to(vector_RD) @ vector_RD[begin:end]
        for text, (begin, end) in zip(texts, pairwise(ends), strict=True)
    ]
    return torch.cat(joined)


def batches(lengths: Sequence[int]) -> Iterator[range]:
    """Yields the places of rows, sorted by length, that a batch has room for once padded."""
    begin = 0
    for place, length in enumerate(lengths):
        if place > begin and length * (place - begin + 1) > NUM_POSITIONS_PER_BATCH:
            yield range(begin, place)
            begin = place
    if lengths:
        yield range(begin, len(lengths))
