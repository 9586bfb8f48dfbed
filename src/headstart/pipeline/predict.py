"""Classifier and texts to labels: one after another as they are read, or as a table on the disk."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import tee
from pathlib import Path

from headstart.corpora.documents import Document
from headstart.files import durable_file
from headstart.pipeline.classifier import Classifier, Numbers, probabilities


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The label that a text most likely has, and how likely it has each."""

    document: Document
    label: str
    probabilities: dict[str, float]

    @property
    def probability(self) -> float:
        """How likely the text has the label."""
        return self.probabilities[self.label]


def predictions(classifier: Classifier, documents: Iterable[Document]) -> Iterator[Prediction]:
    """Yields the label of each text, in order, holding no more of them than are read at once."""
    kept, read = tee(documents)
    answers = probabilities(classifier, (document.plain for document in read))
    for document, shares in zip(kept, answers, strict=True):
        yield prediction(classifier, document, shares)


def prediction(classifier: Classifier, document: Document, shares: Numbers) -> Prediction:
    """Returns the likeliest label of a text; of several that are alike, the first."""
    return Prediction(
        document=document,
        label=classifier.labels[int(shares.argmax())],
        probabilities=dict(zip(classifier.labels, shares.tolist(), strict=True)),
    )


def write_predictions(
    path: Path, labels: Sequence[str], found: Iterable[Prediction]
) -> Counter[str]:
    """Writes a row for each text as it comes, and returns how many texts have each label."""
    num_texts: Counter[str] = Counter(dict.fromkeys(labels, 0))
    with durable_file(path) as file:
        file.write(csv_line(header(labels)))
        for one in found:
            shares = [one.probability, *(one.probabilities[label] for label in labels)]
            # Seven digits are all that a number of single precision has.
            numbers = [f"{share:.7g}" for share in shares]
            file.write(csv_line([str(one.document.place.line), one.label, *numbers]))
            num_texts[one.label] += 1
    return num_texts


def header(labels: Sequence[str]) -> list[str]:
    """Returns the names of the table's columns."""
    return ["line", "label", "probability", *(f"probability_{label}" for label in labels)]


def csv_line(cells: Sequence[str]) -> bytes:
    """Returns one row of a table as bytes."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerow(cells)
    return stream.getvalue().encode(errors="backslashreplace")
