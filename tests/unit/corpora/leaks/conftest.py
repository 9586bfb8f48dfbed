"""What the tests of the leak guard share: texts as examples, and words drawn at random."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from headstart.corpora.examples import Example
from headstart.corpora.places import Place

MakeExamples = Callable[..., list[Example]]


@pytest.fixture(scope="session")
def examples() -> MakeExamples:
    """Makes examples of texts, read from lines of a file that bears the name of their split."""

    def make(texts, labels=None, name="train"):
        labels = labels or ["0"] * len(texts)
        return [
            Example(text, label, Place(Path(name), line))
            for line, (text, label) in enumerate(zip(texts, labels, strict=True), start=1)
        ]

    return make


@pytest.fixture(scope="session")
def random_text() -> Callable[[random.Random, int], str]:
    """Draws a text of so many words, with common words and rare ones."""

    def draw(generator, num_words):
        return " ".join(f"w{int(generator.paretovariate(0.5)) % 20_000}" for _ in range(num_words))

    return draw


@pytest.fixture(scope="session")
def changed() -> Callable[[random.Random, str, int], str]:
    """Replaces so many words of a text by words that it does not have."""

    def change(generator, text, num_changed):
        words = text.split()
        for position in generator.sample(range(len(words)), num_changed):
            words[position] = f"x{generator.randrange(1_000_000)}"
        return " ".join(words)

    return change
