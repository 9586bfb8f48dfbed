"""How long until `headstart --help` is read, and until a cold process has labelled its first text?

Every start is a new process, in turns. Beside them stand what no program that uses these libraries
can be quicker than, importing PyTorch or Transformers alone, and a Hugging Face pipeline that does
the same: it loads a classifier of the documents' shape and labels one text.
Usage: bench_starting.py [--tiny]
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from drawn_classifier import shape_of, write_run
from drawn_reviews import drawn_tokenizer, drawn_words
from record import NUM_REPETITIONS, alternate, ask, timed

HELP, PREDICT = "`headstart --help`", "`headstart predict RUN TEXT`"
TORCH, TRANSFORMERS = "`import torch` alone", "`from transformers import pipeline` alone"
PIPELINE = "a Hugging Face pipeline, loaded and asked once"
TEXT = "a book to remember"
NUM_WORDS_PER_PIECE = 2
ASK_PIPELINE = """
import sys
from transformers import pipeline
print(pipeline("text-classification", model=sys.argv[1])(sys.argv[2]))
"""


def commands(run: Path, theirs: Path) -> dict[str, list[str]]:
    """Returns what is typed for each start."""
    return {
        HELP: ["-m", "headstart", "--help"],
        TORCH: ["-c", "import torch"],
        PREDICT: ["-m", "headstart", "predict", str(run), TEXT],
        TRANSFORMERS: ["-c", "from transformers import pipeline"],
        PIPELINE: ["-c", ASK_PIPELINE, str(theirs), TEXT],
    }


def started(words: Sequence[str]) -> float:
    """Runs a new process to its end, and returns its seconds."""
    command = [sys.executable, *words]
    return timed(lambda: subprocess.run(command, check=True, capture_output=True))


def write_both(run: Path, theirs: Path, *, is_tiny: bool) -> None:
    """Writes a classifier of the same shape for each."""
    from their_classifiers import their_model, their_tokenizer

    recipe = shape_of(is_tiny=is_tiny)
    num_pieces = recipe.model.trunk.vocabulary_size
    tokenizer = drawn_tokenizer(drawn_words(NUM_WORDS_PER_PIECE * num_pieces), num_pieces)
    write_run(run, recipe, tokenizer)
    their_model(recipe).save_pretrained(theirs)
    their_tokenizer(tokenizer).save_pretrained(theirs)


def answered(folder: Path, *, is_tiny: bool) -> dict[str, object]:
    """Starts all in turns, and returns what was found."""
    run, theirs = folder / "run", folder / "theirs"
    write_both(run, theirs, is_tiny=is_tiny)
    contestants = {name: partial(started, words) for name, words in commands(run, theirs).items()}
    seconds = alternate(contestants, 1 if is_tiny else NUM_REPETITIONS)
    return {
        "work": "a new process each time; lab as a classifier of two labels, one short text",
        "seconds": seconds,
        "ratio": seconds[PIPELINE]["median_seconds"] / seconds[PREDICT]["median_seconds"],
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        ask("starting", __doc__, partial(answered, Path(folder)))
