"""Holding splits against a sketch: what is known, and what cannot be judged, is counted."""

from pathlib import Path

import numpy as np

from headstart.corpora.examples import Example
from headstart.corpora.leaks import SKETCH_FILE
from headstart.corpora.leaks.normalisation import words
from headstart.corpora.leaks.sketch import Sketcher, thinned
from headstart.corpora.leaks.sketch_file import write_sketch
from headstart.corpora.places import Place
from headstart.pipeline.check import check_run


def drawn(seed, num_words):
    numbers = np.random.default_rng(seed).integers(0, 5_000, num_words)
    return " ".join(f"word{number}" for number in numbers)


def test_items_with_too_few_sampled_stretches_are_counted_and_called_neither(tmp_path):
    read = [drawn(seed, 2_000) for seed in range(5)]
    sketcher = Sketcher()
    for text in read:
        sketcher.see(words(text))
    write_sketch(tmp_path / SKETCH_FILE, thinned(sketcher.sketch(), 500))
    # About one 8-gram in twenty is kept: a short stretch of what was read cannot be told.
    short = [" ".join(read[0].split()[start : start + 20]) for start in (0, 100, 200)]
    texts = [read[0], *short, "six words are not eight words", drawn(99, 2_000)]
    examples = [Example(text, "a", Place(Path("test"), 1)) for text in texts]
    (found,) = check_run({"test": examples}, tmp_path)
    assert found.known == (0,)
    assert found.num_unjudged == 4
    (whole,) = check_run({"test": [examples[0], examples[-1]]}, tmp_path)
    assert (whole.known, whole.num_unjudged) == ((0,), 0)
