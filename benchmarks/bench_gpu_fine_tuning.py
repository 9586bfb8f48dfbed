"""How long does a GPU take to learn 1,600 labelled reviews in ten epochs, from file to classifier?

`transfer` as it is, in a process that has begun: reading and cutting the files, all ten epochs with
their looks at 200 held-out reviews, and writing the run. It is a cold start, whose epochs cost what
those of a warm one do. Labels are drawn, so patience is off: it would end that early. The first
transfer loads kernels, as a user's only one does, and stands by itself.
Usage: bench_gpu_fine_tuning.py [--tiny]
"""

import csv
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import torch
from drawn_classifier import LABELS, shape_of
from drawn_reviews import drawn_lengths, drawn_texts, drawn_tokenizer, drawn_words
from record import ask

from headstart import ExamplesConfig, Place, Recipe, Transferring, transfer
from headstart.tokenizers.folder import save_tokenizer
from headstart.transfers.settings import COLD

NUM_REVIEWS, NUM_HELD_OUT, NUM_EPOCHS = 1_600, 200, 10
NUM_AFTER_FIRST, NUM_TINY = 5, 40
NUM_WORDS_PER_PIECE = 2


def write_examples(path: Path, texts: list[str]) -> None:
    """Writes texts, each with a label by chance."""
    chosen = np.random.default_rng(0).integers(0, len(LABELS), len(texts))
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label"])
        rows.writerows((text, LABELS[label]) for text, label in zip(texts, chosen, strict=True))


def transferred(recipe: Recipe, tokenizer: Path, examples: ExamplesConfig, device: str) -> float:
    """Returns the seconds of one transfer."""
    settings = replace(
        COLD, epochs=NUM_EPOCHS, transfer=replace(COLD.transfer, patience=0), fewest_steps=0
    )
    with tempfile.TemporaryDirectory() as folder:
        wanted = Transferring(
            recipe=recipe,
            examples=examples,
            settings=settings,
            place=Place(device=device),
            tokenizer=tokenizer,
        )
        started_at = time.perf_counter()
        transfer(wanted, Path(folder) / "run")
        return time.perf_counter() - started_at


def seconds_of(recipe: Recipe, folder: Path, device: str, *, is_tiny: bool) -> dict[str, object]:
    """Returns how long the first transfer took, and those after it."""
    num_pieces = recipe.model.trunk.vocabulary_size
    words = drawn_words(NUM_WORDS_PER_PIECE * num_pieces)
    tokenizer = drawn_tokenizer(words, num_pieces)
    save_tokenizer(tokenizer, folder / "tokenizer")
    train, valid = folder / "train.csv", folder / "valid.csv"
    # A mark stands before the pieces of a text.
    texts = drawn_texts(
        drawn_lengths(NUM_REVIEWS + NUM_HELD_OUT, recipe.length - 1), words, tokenizer
    )
    num_train = NUM_TINY if is_tiny else NUM_REVIEWS
    write_examples(train, texts[:num_train])
    write_examples(valid, texts[-NUM_HELD_OUT:])
    examples = ExamplesConfig(train=str(train), valid=str(valid))
    once = partial(transferred, recipe, folder / "tokenizer", examples, device)
    first = once()
    after = [once() for _ in range(1 if is_tiny else NUM_AFTER_FIRST)]
    return {"first": first, "median": median(after), "seconds": after}


def answered(*, is_tiny: bool) -> dict[str, object]:
    """Times transfers of the documents' model."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with tempfile.TemporaryDirectory() as folder:
        found = seconds_of(shape_of(is_tiny=is_tiny), Path(folder), device, is_tiny=is_tiny)
    return {
        "work": f"{NUM_REVIEWS:,} reviews for {NUM_EPOCHS} epochs, 16 a step, "
        f"{NUM_HELD_OUT} held out; from file to classifier",
        "seconds": {"lab": found},
    }


if __name__ == "__main__":
    ask("gpu-fine-tuning", __doc__, answered, "cuda")
