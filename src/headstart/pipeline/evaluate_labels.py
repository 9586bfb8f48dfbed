"""A classifier held against labelled texts: scores with intervals, on the full and clean test."""

from collections.abc import Sequence

import numpy as np

from headstart.corpora.documents import Reading
from headstart.corpora.examples import Example, ExampleColumns, read_examples
from headstart.errors import DataError
from headstart.pipeline.classifier import Classifier, probabilities
from headstart.pipeline.seen import clean_items
from headstart.pipeline.test_scores import both_scores


def read_test(names: Sequence[str], reading: Reading, columns: ExampleColumns) -> list[Example]:
    """Reads all examples of a test."""
    return [example for name in names for example in read_examples(name, reading, columns)]


def evaluate_labels(classifier: Classifier, test: list[Example]) -> dict[str, object]:
    """Returns what a classifier is worth on all of a test, and on what it had not seen before."""
    number_of = {label: number for number, label in enumerate(classifier.labels)}
    for example in test:
        if example.label not in number_of:
            raise DataError(
                f"{example.place}: the label {example.label!r} is none that this run knows "
                f"({', '.join(classifier.labels)}). Mend the label, or leave the example out."
            )
    found = np.stack(list(probabilities(classifier, (example.text for example in test))))
    targets = np.array([number_of[example.label] for example in test], dtype=np.int64)
    is_clean = np.array(clean_items(classifier.run.folder, test))
    return both_scores(found.astype(np.float64), targets, is_clean)
