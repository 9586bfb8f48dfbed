"""How fast are reviews learned from on two cores, beside torch.nn and Hugging Face's Trainer?

The documents' classifier of two labels learns from reviews as long as the French book reviews, 16 a
step, AdamW and clipping included. Headstart runs the loop of `transfer` as it is: like lengths
together, of the embeddings only those rows moved that were read, and products in half precision
where the processor is made for it; then once more in single. The documents' loop pads every review
to 256 and drops nothing out, which is less work; Hugging Face's Trainer has the plainest of its
models in this shape, groups by length, pads as little as it needs, and has its fused AdamW, in
either precision. All judge a review by one piece, the documents and ours by the last and Hugging
Face's by the first; what `transfer` does by itself, the mean of all pieces, stands beside them.

What most people would pick instead stands beside them: TF-IDF with logistic regression, by
scikit-learn, which learns all that it ever will while the others do an epoch.

Each contestant has a process of its own, since how the C library treats freed memory is a setting
of the whole process. Usage: bench_fine_tuning.py [--tiny]
"""

import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from drawn_classifier import drawn_split, judged_by_last, new_learner, shape_of
from drawn_reviews import drawn_lengths, drawn_texts, drawn_tokenizer, drawn_words
from record import alternate, ask, timed
from worker import NewRuns, Run, Worker

from headstart.evaluation.baselines.tfidf import fitted, new_features
from headstart.pipeline.planning import best_precision
from headstart.training.allocator import keep_freed_memory
from headstart.training.config import Precision

OURS = "headstart, `transfer --pooling last`"
OURS_MEAN = "headstart, `transfer`, by the mean of all pieces"
PLAIN = "torch.nn, as the documents wrote it, padded to 256"
OURS_SINGLE = "headstart, `--pooling last`, in single precision"
THEIRS = "Hugging Face's Trainer, grouped by length"
LINE = "scikit-learn, TF-IDF with logistic regression, all that it learns"
IN_HALF, KEPT = ", in bf16", ", freed memory kept"
NUM_REVIEWS, NUM_TINY_REVIEWS = 1_600, 32
# An epoch of all takes a minute and a half.
NUM_EPOCHS, NUM_TINY_REPETITIONS = 5, 1
EPOCH = "epoch"
STRENGTH = 10.0
NUM_WORDS_PER_PIECE = 2


def our_runs(precision: Precision, *, is_by_mean: bool, is_tiny: bool) -> dict[str, Run]:
    """Returns an epoch of our own loop."""
    recipe = shape_of(is_tiny=is_tiny)
    if not is_by_mean:
        recipe = judged_by_last(recipe)
    learner = new_learner(recipe, drawn_split(num_reviews(is_tiny=is_tiny), recipe))
    learner = replace(learner, plan=replace(learner.plan, precision=precision))
    state = learner.new_state()
    # It stops after each epoch, and goes on from there.
    trainer = learner.trainer(lambda now, _: now.step % learner.steps_per_epoch == 0)

    def epoch() -> float:
        started_at = time.perf_counter()
        trainer.run(state)
        # What a look at the validation examples would wait for.
        state.optimiser.settle()
        return time.perf_counter() - started_at

    return {EPOCH: epoch}


def plain_runs(*, keeps_memory: bool = False, is_tiny: bool) -> dict[str, Run]:
    """Returns an epoch of the documents' loop."""
    from their_classifiers import DocumentsLoop

    if keeps_memory:
        keep_freed_memory()
    recipe = shape_of(is_tiny=is_tiny)
    return {EPOCH: DocumentsLoop(recipe, drawn_split(num_reviews(is_tiny=is_tiny), recipe)).epoch}


def their_runs(*, is_half: bool, keeps_memory: bool = False, is_tiny: bool) -> dict[str, Run]:
    """Returns an epoch of Hugging Face's Trainer."""
    from their_classifiers import TheirLoop

    if keeps_memory:
        keep_freed_memory()
    recipe = shape_of(is_tiny=is_tiny)
    split = drawn_split(num_reviews(is_tiny=is_tiny), recipe)
    loop = TheirLoop(recipe, split, Path(tempfile.gettempdir()), is_half=is_half)
    return {EPOCH: loop.epoch}


def line_runs(*, is_tiny: bool) -> dict[str, Run]:
    """Returns the fit of TF-IDF with logistic regression, of one strength."""
    recipe = shape_of(is_tiny=is_tiny)
    num_vocabulary = recipe.model.trunk.vocabulary_size
    words = drawn_words(NUM_WORDS_PER_PIECE * num_vocabulary)
    lengths = drawn_lengths(num_reviews(is_tiny=is_tiny), recipe.length)
    texts = drawn_texts(lengths, words, drawn_tokenizer(words, num_vocabulary))
    target_N = drawn_split(len(texts), recipe).targets

    def fit() -> float:
        return timed(lambda: fitted(new_features().fit_transform(texts), target_N, STRENGTH))

    return {EPOCH: fit}


CONTESTANTS: dict[str, NewRuns] = {
    OURS: partial(our_runs, best_precision("cpu"), is_by_mean=False),
    OURS_MEAN: partial(our_runs, best_precision("cpu"), is_by_mean=True),
    OURS_SINGLE: partial(our_runs, "fp32", is_by_mean=False),
    PLAIN: plain_runs,
    f"{PLAIN}{KEPT}": partial(plain_runs, keeps_memory=True),
    THEIRS: partial(their_runs, is_half=False),
    f"{THEIRS}{KEPT}": partial(their_runs, is_half=False, keeps_memory=True),
    f"{THEIRS}{IN_HALF}": partial(their_runs, is_half=True),
    f"{THEIRS}{KEPT}{IN_HALF}": partial(their_runs, is_half=True, keeps_memory=True),
    LINE: line_runs,
}


def num_reviews(*, is_tiny: bool) -> int:
    return NUM_TINY_REVIEWS if is_tiny else NUM_REVIEWS


def answered(*, is_tiny: bool) -> dict[str, object]:
    """Lets all learn in turns, and returns what was found."""
    recipe = shape_of(is_tiny=is_tiny)
    split = drawn_split(num_reviews(is_tiny=is_tiny), recipe)
    workers = {
        name: Worker(partial(new_runs, is_tiny=is_tiny)) for name, new_runs in CONTESTANTS.items()
    }
    num_repetitions = NUM_TINY_REPETITIONS if is_tiny else NUM_EPOCHS
    seconds = alternate(
        {name: partial(worker.run, EPOCH) for name, worker in workers.items()}, num_repetitions
    )
    for worker in workers.values():
        worker.stop()
    ours = seconds[OURS]["median_seconds"]
    learner = new_learner(recipe, split)
    num_positions = sum(len(batch) * learner.padded_length(batch) for batch in learner.order(0))
    return {
        "work": f"lab as a classifier of two labels, {len(split.rows):,} reviews of "
        f"{np.mean(split.lengths):.0f} pieces on average and 256 at most, 16 a step",
        "reviews": len(split.rows),
        "tokens": int(np.sum(split.lengths)),
        "precision": best_precision("cpu"),
        "padding_share": 1 - sum(split.lengths) / num_positions,
        "seconds": seconds,
        "ratios": {name: row["median_seconds"] / ours for name, row in seconds.items()},
    }


if __name__ == "__main__":
    ask("fine-tuning", __doc__, answered)
