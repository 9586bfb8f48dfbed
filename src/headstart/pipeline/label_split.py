"""Examples as a classifier reads them: rows of pieces, and the numbers of their labels.

Legend: N texts, C labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headstart.corpora.examples import Example
from headstart.pipeline.taught import Taught
from headstart.pipeline.text_rows import TextReader


@dataclass(frozen=True)
class Split:
    """Examples as a model reads them."""

    rows: list[list[list[int]]]
    targets: NDArray[np.int64]
    names: list[str]
    soft_NC: NDArray[np.float32] | None = None
    """Where some were taught, the targets of all as probabilities; those with labels come first."""

    @property
    def lengths(self) -> list[int]:
        """The length of each text's longest row, which decides what is padded."""
        return [max(map(len, text)) for text in self.rows]


def as_split(
    examples: Sequence[Example], labels: Sequence[str], reader: TextReader, num_threads: int
) -> Split:
    """Returns examples as rows of pieces with the numbers of their labels."""
    number_of = {label: number for number, label in enumerate(labels)}
    return Split(
        rows=reader.rows_of_all([example.text for example in examples], num_threads),
        targets=np.array([number_of[example.label] for example in examples], dtype=np.int64),
        names=[str(example.place) for example in examples],
    )


def with_taught(split: Split, taught: Taught, reader: TextReader, num_threads: int) -> Split:
    """Returns examples with texts behind them whose labels are only likely."""
    num_labels = taught.probability_NC.shape[1]
    certain_NC = np.eye(num_labels, dtype=np.float32)[split.targets]
    return Split(
        rows=[*split.rows, *reader.rows_of_all(taught.texts, num_threads)],
        targets=split.targets,
        names=[*split.names, *taught.names],
        soft_NC=np.concatenate([certain_NC, taught.probability_NC]),
    )
