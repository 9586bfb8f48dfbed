"""The baselines against plain scikit-learn pipelines and against counting."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union

from headstart.errors import DataError
from headstart.evaluation.baselines import BASELINES
from headstart.evaluation.baselines.tfidf import STRENGTHS

WORDS = {0: "dull flat weak stale", 1: "bright quick fresh warm", 2: "odd queer strange eerie"}


def examples(num: int, num_labels: int, seed: int) -> tuple[list[str], list[int]]:
    """Returns noisy texts: a label's own words among those of the others."""
    random = np.random.default_rng(seed)
    every = " ".join(WORDS[label] for label in range(num_labels)).split()
    targets = [index % num_labels for index in range(num)]
    texts = [
        " ".join(
            random.choice(WORDS[target].split(), 2).tolist() + random.choice(every, 4).tolist()
        )
        for target in targets
    ]
    return texts, targets


def plain_pipeline(strength: float):
    return make_pipeline(
        make_union(
            TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, lowercase=True),
            TfidfVectorizer(
                analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True, lowercase=True
            ),
        ),
        LogisticRegression(C=strength, max_iter=10_000),
    )


@pytest.mark.parametrize("num_labels", [2, 3])
def test_tfidf_is_the_best_of_plain_pipelines_on_validation(num_labels):
    train, valid, test = (examples(60, num_labels, seed) for seed in (0, 1, 2))
    fitted = BASELINES["tfidf"](*train, *valid, num_labels, 0)
    scores = {C: plain_pipeline(C).fit(*train).score(*valid) for C in STRENGTHS}
    strength = fitted.settings["strength"]
    assert scores[strength] == max(scores.values()) == fitted.settings["valid_accuracy"]
    assert all(scores[C] < scores[strength] for C in STRENGTHS if strength > C)
    expected = plain_pipeline(strength).fit(*train).predict_proba(test[0])
    np.testing.assert_allclose(fitted.probabilities(test[0]), expected, atol=1e-9)


def test_tfidf_says_the_same_twice_whatever_the_seed():
    train, valid = examples(40, 2, 0), examples(40, 2, 1)
    first, second = (BASELINES["tfidf"](*train, *valid, 2, seed) for seed in (0, 1))
    assert (first.probabilities(valid[0]) == second.probabilities(valid[0])).all()


def test_a_label_without_examples_stays_possible_and_probabilities_sum_to_one():
    train, valid = examples(40, 2, 0), examples(10, 2, 1)
    probabilities = BASELINES["tfidf"](*train, *valid, 3, 0).probabilities(valid[0])
    assert probabilities.shape == (10, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(probabilities[:, 2], 1 / 43)


def test_one_label_alone_gives_its_share():
    fitted = BASELINES["tfidf"](["a word", "two words"], [1, 1], ["a word"], [0], 2, 0)
    np.testing.assert_allclose(fitted.probabilities(["any"]), [[1 / 4, 3 / 4]])
    assert fitted.settings["strength"] is None
    assert fitted.settings["valid_accuracy"] == 0


def test_texts_without_words_are_refused_in_a_sentence():
    with pytest.raises(DataError, match="The 2 training texts hold no words"):
        BASELINES["tfidf"](["!", "?"], [0, 1], ["!"], [0], 2, 0)


def test_majority_counts():
    fitted = BASELINES["majority"](["a"] * 5, [2, 1, 2, 2, 0], ["a"], [0], 3, 0)
    np.testing.assert_allclose(fitted.probabilities(["x", "y"]), [[2 / 8, 2 / 8, 4 / 8]] * 2)
    assert fitted.settings == {"label": 2}
