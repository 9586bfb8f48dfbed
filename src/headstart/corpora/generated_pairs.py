"""Pairs that are made up, whose right translation anyone can tell: copied, or turned around."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from headstart.corpora.generated import ONSETS, VOWELS
from headstart.errors import DataError
from headstart.files import durable_file
from headstart.randomness import derive_seed

Rule = Literal["copy", "reverse"]


@dataclass(frozen=True, kw_only=True)
class GeneratedPairsConfig:
    """How many pairs are made up, of which words, and what becomes of a source."""

    rule: Rule = "reverse"
    seed: int = 0
    num_words: int = 12
    most_words: int = 8
    """Words of the longest sentence; the shortest has one."""
    num_train: int = 2_000
    num_valid: int = 100

    def __post_init__(self) -> None:
        most = len(ONSETS) * len(VOWELS)
        if not 2 <= self.num_words <= most:
            raise DataError(f"num_words is {self.num_words}; it must be from 2 to {most}.")
        if self.most_words < 1:
            raise DataError(f"most_words is {self.most_words}; it must be at least 1.")


@dataclass(frozen=True, kw_only=True)
class GeneratedPairFiles:
    """Where the pairs were written."""

    source: Path
    target: Path
    valid_source: Path
    valid_target: Path


def generated_pairs(config: GeneratedPairsConfig) -> Iterator[tuple[str, str]]:
    """Yields different sources with their targets, without end but for the number there are."""
    draw = random.Random(derive_seed(config.seed, "pairs"))
    words = [f"{onset}{vowel}" for onset in ONSETS for vowel in VOWELS]
    known = draw.sample(words, config.num_words)
    num_different = sum(config.num_words**length for length in range(1, config.most_words + 1))
    seen: set[tuple[str, ...]] = set()
    while len(seen) < num_different:
        sentence = tuple(draw.choices(known, k=draw.randint(1, config.most_words)))
        if sentence not in seen:
            seen.add(sentence)
            turned = sentence if config.rule == "copy" else sentence[::-1]
            yield " ".join(sentence), " ".join(turned)


def write_generated_pairs(folder: Path, config: GeneratedPairsConfig) -> GeneratedPairFiles:
    """Writes training and validation pairs into a folder, a side a file; no source is in both."""
    pairs = generated_pairs(config)
    paths: dict[str, Path] = {}
    for split, num in (("train", config.num_train), ("valid", config.num_valid)):
        chosen = list(islice(pairs, num))
        if len(chosen) < num:
            raise DataError(
                f"{num:,} {split} pairs were asked for, but {config.num_words} words in sentences "
                f"of at most {config.most_words} allow fewer. Ask for fewer pairs or more words."
            )
        for side, name in enumerate(("source", "target")):
            paths[f"{split}_{name}"] = path = folder / f"{split}.{name}.txt"
            with durable_file(path) as file:
                for pair in chosen:
                    file.write(f"{pair[side]}\n".encode())
    return GeneratedPairFiles(
        source=paths["train_source"],
        target=paths["train_target"],
        valid_source=paths["valid_source"],
        valid_target=paths["valid_target"],
    )
