"""How fast are reviews labelled in a warm process, beside a Hugging Face pipeline?

One review of 100 pieces, again and again on one core: half of the answers come within p50, 95 %
within p95. Then 2,000 reviews as long as the French book reviews in one go, with all threads.
Both begin with text and end with a label and its probability; both have the documents' shape,
drawn weights and the same vocabulary. Both judge a review by one piece, ours by the last, as the
documents do, and the pipeline by the first; the mean of all pieces stands beside them. The pipeline
is asked in its own best ways: one review at a time, which pads nothing, and 16 at a time out of
reviews that were sorted by length for it, which it does not do by itself. Ours reads one by one, on
as many threads as there are, by compiled code where the package has it. Then both once more with
products in half precision: ours as `predict --precision bf16` does them, theirs with all weights in
it. TF-IDF with logistic regression, by scikit-learn, is far less work, and what most people would
pick instead: its time stands beside the others'. Usage: bench_predicting.py [--tiny]
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import torch
from drawn_classifier import LABELS, judged_by_last, shape_of, write_run
from drawn_reviews import drawn_lengths, drawn_texts, drawn_tokenizer, drawn_words
from record import alternate, ask, timed
from their_classifiers import their_pipeline

from headstart.corpora.documents import Document
from headstart.corpora.places import Place
from headstart.evaluation.baselines import tfidf
from headstart.evaluation.baselines.baseline import Baseline
from headstart.pipeline.classifier import Classifier, load_classifier
from headstart.pipeline.predict import predictions

OURS, THEIRS = "headstart", "Hugging Face pipeline"
OURS_MEAN = f"{OURS}, by the mean of all pieces"
ONE_BY_ONE, SORTED = f"{THEIRS}, one by one", f"{THEIRS}, sorted by length, 16 at a time"
IN_HALF = ", in bf16"
LINE = "scikit-learn, TF-IDF with logistic regression"
NUM_PIECES = 100
NUM_REVIEWS, NUM_CALLS = 2_000, 40
# What the line learns from, with labels by chance.
NUM_LEARNED = 1_600
# As few as give a median with its spread, since a round takes half a minute.
NUM_ROUNDS = 5
NUM_WORDS_PER_PIECE = 2

Label = Callable[[str], str]


def our_label(classifier: Classifier, text: str) -> str:
    """Returns the label of one text, as `predict` finds it."""
    (found,) = predictions(classifier, [Document(text, Place(Path("-"), 1))])
    return found.label


def our_labels(classifier: Classifier, texts: list[str]) -> list[str]:
    """Returns the labels of many texts, as `predict` finds them."""
    documents = (Document(text, Place(Path("-"), line)) for line, text in enumerate(texts, 1))
    return [found.label for found in predictions(classifier, documents)]


def learned_line(texts: list[str]) -> Baseline:
    """Returns TF-IDF with logistic regression, fitted to texts with labels by chance."""
    targets = np.random.default_rng(0).permutation(np.arange(len(texts)) % len(LABELS)).tolist()
    return tfidf.fit(texts, targets, texts[:100], targets[:100], len(LABELS), 0)


@contextmanager
def one_core() -> Iterator[None]:
    """Has this process use one core, where the system can say which, and one thread."""
    num_threads = torch.get_num_threads()
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    torch.set_num_threads(1)
    if cores:
        os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        if cores:
            os.sched_setaffinity(0, cores)
        torch.set_num_threads(num_threads)


def waiting(contestants: dict[str, Label], text: str, num_calls: int, num_rounds: int) -> dict:
    """Returns how long each takes for one text, call by call in turns of some calls."""
    seconds: dict[str, list[list[float]]] = {name: [] for name in contestants}
    for label in contestants.values():
        label(text)
    for _ in range(num_rounds):
        for name, label in contestants.items():
            seconds[name].append([timed(partial(label, text)) for _ in range(num_calls)])
    return {name: milliseconds(np.array(rounds) * 1e3) for name, rounds in seconds.items()}


def milliseconds(rounds_RC: np.ndarray) -> dict[str, object]:
    """Returns the percentiles of all calls, and the medians from round to round."""
    medians = np.median(rounds_RC, axis=1)
    return {
        "p50_ms": float(np.median(rounds_RC)),
        "p95_ms": float(np.percentile(rounds_RC, 95)),
        "p50_ms_of_rounds": [float(medians.min()), float(medians.max())],
        "p50_ms_by_round": medians.tolist(),
        "calls": rounds_RC.size,
    }


def answered(folder: Path, *, is_tiny: bool) -> dict[str, object]:
    """Asks both for one label and for many, and returns what was found."""
    recipe = shape_of(is_tiny=is_tiny)
    num_vocabulary = recipe.model.trunk.vocabulary_size
    words = drawn_words(NUM_WORDS_PER_PIECE * num_vocabulary)
    tokenizer = drawn_tokenizer(words, num_vocabulary)
    by_last, by_mean = folder / "last", folder / "mean"
    write_run(by_last, judged_by_last(recipe), tokenizer)
    write_run(by_mean, recipe, tokenizer)
    classifier, pipe = load_classifier(by_last, "cpu"), their_pipeline(recipe, tokenizer)
    mean_classifier = load_classifier(by_mean, "cpu")
    in_half = load_classifier(by_last, "cpu", "bf16")
    half_pipe = their_pipeline(recipe, tokenizer, torch.bfloat16)
    num_rounds = 1 if is_tiny else NUM_ROUNDS
    # A mark stands before the pieces of a text.
    longest = recipe.length - 1
    (text,) = drawn_texts([min(NUM_PIECES, longest) - 1], words, tokenizer)
    lengths = drawn_lengths(20 if is_tiny else NUM_REVIEWS, longest)
    texts = drawn_texts(lengths, words, tokenizer)
    line = learned_line(texts[:NUM_LEARNED])
    with one_core():
        one = {
            OURS: partial(our_label, classifier),
            OURS_MEAN: partial(our_label, mean_classifier),
            THEIRS: lambda each: pipe(each)[0]["label"],
            OURS + IN_HALF: partial(our_label, in_half),
            THEIRS + IN_HALF: lambda each: half_pipe(each)[0]["label"],
            LINE: lambda each: LABELS[line.probabilities([each]).argmax()],
        }
        waits = waiting(one, text, 2 if is_tiny else NUM_CALLS, num_rounds)
    in_order = [texts[place] for place in np.argsort(lengths)]
    seconds = alternate(
        {
            OURS: partial(timed, lambda: our_labels(classifier, texts)),
            OURS_MEAN: partial(timed, lambda: our_labels(mean_classifier, texts)),
            ONE_BY_ONE: partial(timed, lambda: pipe(texts, batch_size=1)),
            SORTED: partial(timed, lambda: pipe(in_order, batch_size=16)),
            OURS + IN_HALF: partial(timed, lambda: our_labels(in_half, texts)),
            SORTED + IN_HALF: partial(timed, lambda: half_pipe(in_order, batch_size=16)),
            LINE: partial(timed, lambda: line.probabilities(texts)),
        },
        num_rounds,
    )
    return {
        "work": f"lab as a classifier of two labels; one review of {NUM_PIECES} pieces on one "
        f"core, and {len(texts):,} of {np.mean(lengths):.0f} on average on "
        f"{torch.get_num_threads()} threads",
        "reviews": len(texts),
        "one": waits,
        "one_ratio": waits[THEIRS]["p50_ms"] / waits[OURS]["p50_ms"],
        "seconds": seconds,
        "ratios": {
            name: row["median_seconds"] / seconds[OURS]["median_seconds"]
            for name, row in seconds.items()
        },
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        ask("predicting", __doc__, partial(answered, Path(folder)))
