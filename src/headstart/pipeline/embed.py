"""Run and texts to vectors: one for each word where it stands, or one for each text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from headstart.corpora.documents import Document
from headstart.corpora.places import Place
from headstart.errors import RecipeError
from headstart.models.heads.config import Pooling
from headstart.models.pooling import POOLINGS, by_group
from headstart.pipeline.feeding import as_text, hidden_vectors, marks_of
from headstart.pipeline.run_folder import Run
from headstart.pipeline.vector_file import Owner, write_vectors
from headstart.tokenizers.spans import cut_with_spans
from headstart.tokenizers.words import Word, words_of

# Positions of one batch, padding included: enough to keep a processor busy, and a few megabytes.
NUM_POSITIONS_PER_BATCH = 8_192
NO_WORD = -1

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Passage:
    """As much of a text as a run reads at once: whole words, in their order."""

    number: int
    """The number of its text, from 0."""
    text: str
    """The whole text."""
    place: Place
    words: tuple[Word, ...]

    @cached_property
    def ids(self) -> list[int]:
        """The pieces of the words."""
        return [number for word in self.words for number in word.ids]


@dataclass(frozen=True)
class Use:
    """A word where it stands."""

    passage: Passage
    word: Word

    @property
    def text(self) -> str:
        """The word itself."""
        return self.passage.text[self.word.begin : self.word.end]


def passages(run: Run, documents: Iterable[Document]) -> Iterator[Passage]:
    """Yields texts in parts no longer than the run's rows were; a text without words has none."""
    room = run.recipe.length - marks_of(run).num_pieces
    if room < 1:
        raise RecipeError(f"Rows of {run.recipe.length} have no room for text between marks.")
    for number, document in enumerate(documents):
        text = document.plain
        words: list[Word] = []
        num_pieces = 0
        for word in words_of(text, cut_with_spans(run.tokenizer, text)):
            # A word longer than a row is known by its beginning.
            fitting = word._replace(ids=word.ids[:room])
            if num_pieces + len(fitting.ids) > room:
                yield Passage(number, text, document.place, tuple(words))
                words, num_pieces = [], 0
            words.append(fitting)
            num_pieces += len(fitting.ids)
        if words:
            yield Passage(number, text, document.place, tuple(words))


def batches(run: Run, parts: Iterable[Passage]) -> Iterator[list[Passage]]:
    """Yields passages as many at a time as a batch has room for once padded."""
    batch: list[Passage] = []
    longest, num_marks = 0, marks_of(run).num_pieces
    for part in parts:
        longest = max(longest, len(part.ids) + num_marks)
        if batch and longest * (len(batch) + 1) > NUM_POSITIONS_PER_BATCH:
            yield batch
            batch, longest = [], len(part.ids) + num_marks
        batch.append(part)
    if batch:
        yield batch


def embed_words(run: Run, parts: Iterable[Passage]) -> Iterator[tuple[Vectors, list[Use]]]:
    """Yields a vector for each word of passages, the average of its pieces, batch by batch."""
    marks = marks_of(run)
    for batch in batches(run, parts):
        text = as_text(run, [marks.around(part.ids) for part in batch])
        hidden_BTD = hidden_vectors(run, text)
        group_BT = torch.full(text.tokens_BT.shape, NO_WORD)
        uses: list[Use] = []
        for row, part in enumerate(batch):
            place = len(marks.before)
            for word in part.words:
                group_BT[row, place : place + len(word.ids)] = len(uses)
                place += len(word.ids)
                uses.append(Use(part, word))
        vectors = by_group(hidden_BTD.float(), group_BT.to(hidden_BTD.device), len(uses))
        yield vectors.cpu().numpy(), uses


def embed_texts(
    run: Run, parts: Iterable[Passage], pooling: Pooling
) -> Iterator[tuple[Vectors, Passage]]:
    """Yields one vector for each text; a text of several passages has one of them all."""
    pooled = pooled_passages(run, parts, pooling)
    for _, found in groupby(pooled, key=lambda pair: pair[1].number):
        vectors, read = zip(*found, strict=True)
        yield joined(vectors, [len(part.ids) for part in read], pooling), read[0]


def pooled_passages(
    run: Run, parts: Iterable[Passage], pooling: Pooling
) -> Iterator[tuple[Vectors, Passage]]:
    """Yields the pooled vector of each passage."""
    marks = marks_of(run)
    for batch in batches(run, parts):
        text = as_text(run, [marks.around(part.ids) for part in batch])
        is_token_BT = text.is_token_BT
        if is_token_BT is None:
            is_token_BT = torch.ones_like(text.tokens_BT, dtype=torch.bool)
        pooled_BD = POOLINGS[pooling](hidden_vectors(run, text).float(), is_token_BT)
        yield from zip(pooled_BD.cpu().numpy(), batch, strict=True)


def joined(vectors: Sequence[Vectors], num_pieces: Sequence[int], pooling: Pooling) -> Vectors:
    """Returns the vector of a text from those of its passages, by the same pooling."""
    if pooling != "mean":
        return vectors[-1 if pooling == "last" else 0]
    mean: Vectors = np.average(np.stack(vectors), axis=0, weights=num_pieces).astype(np.float32)
    return mean


def write_words(run: Run, counted: Iterable[Passage], parts: Iterable[Passage], path: Path) -> int:
    """Writes a vector for each word; the same passages are read twice, once to be counted."""
    num_rows = sum(len(part.words) for part in counted)
    blocks = (
        (vectors, [owner_of(use.passage, use.word.begin, use.word.end) for use in uses])
        for vectors, uses in embed_words(run, parts)
    )
    write_vectors(path, num_rows, run.model.trunk.config.width, blocks)
    return num_rows


def write_texts(
    run: Run,
    counted: Iterable[Passage],
    parts: Iterable[Passage],
    path: Path,
    pooling: Pooling,
) -> int:
    """Writes a vector for each text; the same passages are read twice, once to be counted."""
    num_rows = sum(1 for _ in groupby(part.number for part in counted))
    blocks = (
        (vector[None], [owner_of(part, 0, len(part.text))])
        for vector, part in embed_texts(run, parts, pooling)
    )
    write_vectors(path, num_rows, run.model.trunk.config.width, blocks)
    return num_rows


def owner_of(part: Passage, begin: int, end: int) -> Owner:
    """Says to which characters of which text a vector belongs."""
    place = {"text": part.number, "file": str(part.place.path), "line": part.place.line}
    return {**place, "begin": begin, "end": end, "characters": part.text[begin:end]}
