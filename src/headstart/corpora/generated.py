"""Text that is made up, with a feeling planted in it: praise and blame have words of their own.

Words of one feeling stand together in the unlabelled text, as they do in real reviews, and nothing
in their letters tells them apart. A few labelled examples show a few of these words; whoever has
read the unlabelled text knows what company the others keep. So pretraining helps here, by as much
as the text was made to let it.
"""

import random
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path

from headstart.corpora.example_table import write_examples
from headstart.errors import DataError
from headstart.files import durable_file
from headstart.randomness import derive_seed

LABELS = ("blame", "praise")
ONSETS = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "st", "tr")
VOWELS = ("a", "e", "i", "o", "u", "ai", "ou")
# The fewest and the most words of a sentence that have no feeling; and how many have one.
NEUTRAL_WORDS_PER_SENTENCE, FELT_WORDS_PER_SENTENCE = (1, 3), 2


@dataclass(frozen=True, kw_only=True)
class GeneratedConfig:
    """How much text is made up, and how hard it is."""

    seed: int = 0
    num_words: int = 100
    """Words of each feeling."""
    num_neutral_words: int = 40
    purity: float = 0.95
    """How often a word with a feeling has the one of its text."""
    shown_share: float = 1.0
    """The share of the words of a feeling that training examples may use; all others use all."""
    num_documents: int = 1_500
    sentences_per_document: int = 8
    sentences_per_example: int = 1
    num_train: int = 200
    num_valid: int = 100
    num_test: int = 400

    def __post_init__(self) -> None:
        if not 0.5 <= self.purity <= 1:
            raise DataError(f"purity is {self.purity}; it must be from 0.5 to 1.")
        if not 0 < self.shown_share <= 1:
            raise DataError(f"shown_share is {self.shown_share}; it must be above 0, at most 1.")
        counts = (self.num_words, self.num_neutral_words, self.num_train, self.num_valid)
        if min(counts) < 2:
            raise DataError(
                f"The counts of words and examples are {counts}; each must be 2 or more."
            )


@dataclass(frozen=True, kw_only=True)
class GeneratedFiles:
    """Where the text was written."""

    corpus: Path
    train: Path
    valid: Path
    test: Path


class Language:
    """The words of a made-up language: those of each feeling, and those of none."""

    def __init__(self, config: GeneratedConfig) -> None:
        draw = random.Random(derive_seed(config.seed, "words"))
        wanted = 2 * config.num_words + config.num_neutral_words
        words: dict[str, None] = {}  # in the order of their making, each once
        while len(words) < wanted:
            syllables = (
                draw.choice(ONSETS) + draw.choice(VOWELS) for _ in range(draw.choice((2, 3)))
            )
            words["".join(syllables)] = None
        every = list(words)
        self.felt: Sequence[Sequence[str]] = (
            every[: config.num_words],
            every[config.num_words : 2 * config.num_words],
        )
        self.neutral = every[2 * config.num_words :]
        # Few of them make up most of a text, as with real ones.
        self.neutral_weights = [1 / rank for rank in range(1, len(self.neutral) + 1)]

    def shown(self, share: float) -> "Language":
        """Returns the same language as far as it is shown: the first words of each feeling."""
        shown = copy(self)
        shown.felt = [words[: max(1, round(share * len(words)))] for words in self.felt]
        return shown

    def sentence(self, feeling: int, purity: float, draw: random.Random) -> str:
        """Returns a sentence with words of a feeling, mostly of the one that was asked for."""
        num_neutral = draw.randint(*NEUTRAL_WORDS_PER_SENTENCE)
        words = draw.choices(self.neutral, self.neutral_weights, k=num_neutral)
        for _ in range(FELT_WORDS_PER_SENTENCE):
            seen = feeling if draw.random() < purity else 1 - feeling
            words.append(draw.choice(self.felt[seen]))
        draw.shuffle(words)
        return f"{' '.join(words)}."


def generated_documents(config: GeneratedConfig) -> Iterator[str]:
    """Yields the unlabelled text, one document after another, each of one feeling."""
    language, draw = Language(config), random.Random(derive_seed(config.seed, "documents"))
    for _ in range(config.num_documents):
        feeling = draw.randrange(len(LABELS))
        yield " ".join(
            language.sentence(feeling, config.purity, draw)
            for _ in range(config.sentences_per_document)
        )


def generated_examples(config: GeneratedConfig, split: str, num: int) -> Iterator[tuple[str, str]]:
    """Yields texts with their labels, as many of each label as can be."""
    language, draw = Language(config), random.Random(derive_seed(config.seed, "examples", split))
    if split == "train":
        language = language.shown(config.shown_share)
    for number in range(num):
        feeling = number % len(LABELS)
        sentences = (
            language.sentence(feeling, config.purity, draw)
            for _ in range(config.sentences_per_example)
        )
        yield " ".join(sentences), LABELS[feeling]


def write_generated(folder: Path, config: GeneratedConfig) -> GeneratedFiles:
    """Writes the unlabelled text and the splits into a folder."""
    corpus = folder / "corpus.txt"
    with durable_file(corpus) as file:
        for document in generated_documents(config):
            file.write(f"{document}\n".encode())
    sizes = {"train": config.num_train, "valid": config.num_valid, "test": config.num_test}
    paths = {split: folder / f"{split}.csv" for split in sizes}
    for split, num in sizes.items():
        rows = generated_examples(config, split, num)
        write_examples(paths[split], ((text, label, "") for text, label in rows))
    return GeneratedFiles(corpus=corpus, **paths)
