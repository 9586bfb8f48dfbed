"""Classifier and text to the training examples that it sees as most like it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from headstart.corpora.examples import Example
from headstart.errors import DataError, HeadstartError, RunError
from headstart.evaluation.explanation import LikeExample, LikeExamples
from headstart.evaluation.neighbours import nearest_to
from headstart.pipeline.classifier import Classifier, vectors_of
from headstart.pipeline.examples import example_hashes, read_examples_config, read_labelled
from headstart.pipeline.run_files import EXAMPLES_FILE

NUM_SHOWN = 6
# Each of them is read by the trunk: more would have a person wait for minutes.
NUM_MOST_COMPARED = 2_000


def like_examples(classifier: Classifier, text: str) -> LikeExamples:
    """Returns the training examples most like a text, or why they cannot be told."""
    try:
        examples = training_examples(classifier.run.folder)
    except HeadstartError as error:
        return LikeExamples(examples=(), num_compared=0, num_known=0, missing=str(error))
    return most_like(classifier, text, examples)


def training_examples(folder: Path) -> list[Example]:
    """Returns the examples that a run has learned from, which must still be what they were."""
    if not (folder / EXAMPLES_FILE).is_file():
        raise RunError(f"{folder} does not say from which examples it learned.")
    config, sources = read_examples_config(folder)
    # The test has no part in what was learned, and may be gone.
    config = replace(config, test=None)
    for path, digest in example_hashes(config).items():
        if sources.get(path) != digest:
            raise DataError(
                f"{path} has changed since the run learned from it, so that its nearest training "
                "examples cannot be told."
            )
    return read_labelled(config).train


def most_like(classifier: Classifier, text: str, examples: Sequence[Example]) -> LikeExamples:
    """Returns the examples whose vectors have the largest cosine with that of a text."""
    step = max(1, -(-len(examples) // NUM_MOST_COMPARED))
    compared = examples[::step]
    (vector,) = vectors_of(classifier, [text])
    vectors = np.stack(list(vectors_of(classifier, (example.text for example in compared))))
    return LikeExamples(
        examples=tuple(
            LikeExample(
                text=compared[place].text, label=compared[place].label, cosine=float(cosine)
            )
            for place, cosine in nearest_to(vector, vectors, NUM_SHOWN)
        ),
        num_compared=len(compared),
        num_known=len(examples),
    )
