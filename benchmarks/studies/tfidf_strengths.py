"""How good is TF-IDF on the French reviews with each of its strengths?

Comparisons let validation choose the strength, as they let it choose a network's rate. Were another
better on the test, the line that networks are held against would be lower than it could be; here
every strength is scored, so that a reader can see by how much. Intervals count test items.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from study import Options, Study, options_of

from headstart.evaluation.baselines.tfidf import STRENGTHS, fitted, new_features
from headstart.evaluation.crossed import crossed_share
from headstart.pipeline.calibrated_baseline import texts_and_targets
from headstart.pipeline.check import check
from headstart.pipeline.examples import ExamplesConfig, read_labelled

ASKED = "How good is TF-IDF on the French reviews with each of its strengths?"
NAME = "tfidf-strengths"
SPLITS = "train", "valid", "test"


def main() -> None:
    options = options_of(NAME, __doc__)
    study = Study(NAME, ASKED, options)
    study.commands.append("python benchmarks/studies/tfidf_strengths.py")
    study.keep_answer(answer(options))


def answer(options: Options) -> dict[str, Any]:
    """Fits every strength to the training reviews, and scores each on the others."""
    files = {split: f"{options.data}/cls-books/{split}.review.spm" for split in SPLITS}
    labelled = read_labelled(ExamplesConfig(**files))
    examples = {"train": labelled.train, "valid": labelled.valid, "test": labelled.test}
    (texts, targets), (valid_texts, valid_targets), (test_texts, test_targets) = (
        texts_and_targets(each, labelled.labels) for each in examples.values()
    )
    features = new_features()
    train_NF = features.fit_transform(texts)
    valid_NF, test_NF = features.transform(valid_texts), features.transform(test_texts)
    tests = {"full": np.arange(len(test_texts)), "clean": clean_items(examples)}
    rows = []
    for strength in STRENGTHS:
        regression = fitted(train_NF, np.array(targets), strength)
        is_right_N = regression.predict(test_NF) == np.array(test_targets)
        scores = {test: share(is_right_N[items]) for test, items in tests.items()}
        valid = float(regression.score(valid_NF, valid_targets))
        rows.append({"strength": strength, "valid": valid, **scores})
    return {"num_labels": len(texts), "num_valid": len(valid_texts), "strengths": rows}


def clean_items(examples: Mapping[str, Any]) -> NDArray[np.int64]:
    """Returns the places of the test items of which no copy stands in the other splits."""
    return np.array(check(examples, None).cleaned["test"].clean)


def share(is_right_N: NDArray[np.bool_]) -> dict[str, float]:
    """Returns how much is right, with its interval over items."""
    found = crossed_share(is_right_N[None])
    return {
        "mean": found.mean,
        "low": found.low,
        "high": found.high,
        "num_items": found.num_items,
    }


if __name__ == "__main__":
    main()
