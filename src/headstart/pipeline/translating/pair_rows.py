"""Pairs as a translator reads them: the pieces of both sides, and what is too long or too odd."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from headstart.corpora.pairs import Pair
from headstart.corpora.places import Complaints, Place
from headstart.errors import DataError
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.translating.pair_tokenizers import PairTokenizers
from headstart.pipeline.translating.pairs import FEWEST_PIECES_JUDGED, REMEDY, PairsConfig, Parallel
from headstart.tokenizers.tokenizer import CutTexts, Ids

# A start or an end stands beside the pieces of each side.
NUM_MARKS = 1


@dataclass(frozen=True)
class PairLimits:
    """What a pair must not be, to be learned from."""

    most_pieces: int
    longest_ratio: float


@dataclass(frozen=True)
class PairRows:
    """The pieces of pairs, without marks, and where each pair stands."""

    sources: list[Ids]
    targets: list[Ids]
    places: list[Place]

    @property
    def source_lengths(self) -> NDArray[np.int64]:
        """How long each source is as it is read."""
        return lengths_of(self.sources)

    @property
    def target_lengths(self) -> NDArray[np.int64]:
        """How long each target is as it is asked for."""
        return lengths_of(self.targets)


@dataclass(frozen=True)
class ReadyPairs:
    """The rows of training and validation pairs, and the validation targets as written."""

    train: PairRows
    valid: PairRows
    references: list[str]


def lengths_of(rows: Sequence[Ids]) -> NDArray[np.int64]:
    """Returns the lengths of rows with their mark."""
    return np.fromiter(map(len, rows), np.int64, count=len(rows)) + NUM_MARKS


def limits_of(recipe: Recipe, config: PairsConfig) -> PairLimits:
    """Returns what a recipe's positions and steps have room for, or less where so wanted."""
    trunk = recipe.model.trunk
    room = min(
        trunk.reading_stack.max_length, trunk.writing_stack.max_length, recipe.tokens_per_step
    )
    most = room - NUM_MARKS
    return PairLimits(
        most if config.most_pieces is None else min(most, config.most_pieces),
        config.longest_ratio,
    )


def ready_pairs(
    parallel: Parallel, tokenizers: PairTokenizers, limits: PairLimits, num_threads: int
) -> ReadyPairs:
    """Returns pairs as rows; what is left out is counted among the complaints about them."""
    train, _ = as_pair_rows(parallel.train, tokenizers, limits, parallel.complaints, num_threads)
    # What a translator is held against is left as it is, but for what it cannot read.
    bare = PairLimits(limits.most_pieces, math.inf)
    valid, kept = as_pair_rows(parallel.valid, tokenizers, bare, parallel.complaints, num_threads)
    for name, rows in (("training", train), ("validation", valid)):
        if not rows.places:
            raise DataError(
                f"No {name} pair is left: {'; '.join(parallel.complaints.summary())}. Mend the "
                "pairs, or allow longer ones with --most-pieces."
            )
    return ReadyPairs(train, valid, [pair.target for pair in kept])


def as_pair_rows(
    pairs: Sequence[Pair],
    tokenizers: PairTokenizers,
    limits: PairLimits,
    complaints: Complaints,
    num_threads: int,
) -> tuple[PairRows, list[Pair]]:
    """Returns the pieces of the pairs that are kept, and those pairs; the others are counted."""
    sources, targets = (
        list(rows_of(tokenizer.encode_all(texts, num_threads)))
        for tokenizer, texts in (
            (tokenizers.source, [pair.source for pair in pairs]),
            (tokenizers.target, [pair.target for pair in pairs]),
        )
    )
    kept = []
    for number, pair in enumerate(pairs):
        what = what_is_wrong(len(sources[number]), len(targets[number]), limits)
        if what is None:
            kept.append(number)
        else:
            complaints.complain(pair.place, what, REMEDY, skips=True)
    rows = PairRows(
        [sources[number] for number in kept],
        [targets[number] for number in kept],
        [pairs[number].place for number in kept],
    )
    return rows, [pairs[number] for number in kept]


def rows_of(cut: CutTexts) -> Iterator[Ids]:
    """Yields the pieces of each text."""
    ends = np.concatenate([[0], cut.lengths.cumsum()]).tolist()
    for begin, end in pairwise(ends):
        yield cut.ids[begin:end]


def what_is_wrong(num_source: int, num_target: int, limits: PairLimits) -> str | None:
    """Returns why a pair of so many pieces is left out, or nothing."""
    longer, shorter = max(num_source, num_target), min(num_source, num_target)
    if longer > limits.most_pieces:
        return f"a side has more than {limits.most_pieces:,} pieces"
    if longer > FEWEST_PIECES_JUDGED and longer > limits.longest_ratio * shorter:
        return f"one side is more than {limits.longest_ratio:g} times as long as the other"
    return None
