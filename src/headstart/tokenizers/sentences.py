"""Where sentences begin among the pieces of text, well enough for pairs of them.

A sentence begins at a new word, or behind a line's end, where a mark that ends one stands before
and what can begin one follows. It is found among pieces, not letters: text that others have cut has
its sentences too, and a document's pieces do not depend on where its sentences are.
"""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from headstart.cut_text import WORD_START
from headstart.tokenizers.pieces import piece_bytes

CLOSING, OPENING = "\"'»”’)\\]", "\"'«“‘(\\[¿¡—-"
# Letters that begin no sentence; of those beyond Latin, which have no case or are rare, all may.
SMALL = "a-zà-öø-ÿ"
ENDS = re.compile(rf"[.!?…][{CLOSING}]*$")
CLOSES = re.compile(rf"[{CLOSING}]+")
BEGINS = re.compile(rf"[{OPENING}]*[^\W_{SMALL}]")
OPENS = re.compile(rf"[{OPENING}]*")
# Of letters spelled in several bytes the first tells enough: 0xE2 begins punctuation and signs,
# and what is above 0xEF pictures.
FIRST_BYTES_OF_LETTERS = {*range(0xC3, 0xE2), *range(0xE3, 0xF0)}
LETTER, NO_LETTER = "A", "\ufffd"
YES, EITHER, NO = 1, 0, -1


@dataclass(frozen=True)
class SentenceMarks:
    """What each piece of a vocabulary says of the end and the beginning of sentences."""

    is_word_start: NDArray[np.bool_]
    is_gap: NDArray[np.bool_]
    """Whether a piece is nothing but space."""
    ends: NDArray[np.int8]
    """Whether a sentence may be over behind a piece; either, where the one before it decides."""
    begins: NDArray[np.int8]
    """Whether one may begin with a piece; either, where the one behind it decides."""

    @cached_property
    def is_soft(self) -> NDArray[np.bool_]:
        """Whether a piece may end a sentence, or leaves a question to its neighbours."""
        is_soft: NDArray[np.bool_] = (self.ends != NO) | (self.begins == EITHER)
        return is_soft


@lru_cache(maxsize=8)
def sentence_marks(vocabulary: tuple[str, ...]) -> SentenceMarks:
    """Returns what each piece of a vocabulary says of sentences."""
    texts = [text_of(piece) for piece in vocabulary]
    is_word_start = np.array([piece.startswith(WORD_START) for piece in vocabulary])
    ends = np.array([end_of(text) for text in texts], dtype=np.int8)
    # A word of quotes alone closes nothing before it.
    is_gap = np.array([not text.strip() for text in texts])
    ends[is_word_start & ~is_gap & (ends == EITHER)] = NO
    begins = np.array([beginning_of(text) for text in texts], dtype=np.int8)
    return SentenceMarks(is_word_start, is_gap, ends, begins)


def text_of(piece: str) -> str:
    """Returns the letters of a piece; of one that spells a byte of a letter, a sign for it."""
    spelled = piece_bytes(piece)
    if spelled is None:
        return piece.replace(WORD_START, " ").removeprefix(" ")
    if spelled.isascii():
        return spelled.decode()
    return LETTER if spelled[0] in FIRST_BYTES_OF_LETTERS else NO_LETTER


def end_of(text: str) -> int:
    """Says whether a sentence may be over behind a piece of this text."""
    if not text.strip() or CLOSES.fullmatch(text):
        return EITHER
    return YES if ENDS.search(text) else NO


def beginning_of(text: str) -> int:
    """Says whether a sentence may begin with a piece of this text."""
    if OPENS.fullmatch(text):
        return EITHER
    return YES if BEGINS.match(text) else NO


def begins_sentence(ids: NDArray[np.int32], marks: SentenceMarks) -> NDArray[np.bool_]:
    """Says of each piece of documents, one after another with an end each, if a sentence begins.

    The first piece of a document is left to the caller, who knows where that is.
    """
    is_soft = marks.is_soft[ids]
    # All that decides stands in a run of soft pieces or right behind one: few are looked at.
    is_near = is_soft.copy()
    is_near[1:] |= is_soft[:-1]
    places = np.flatnonzero(is_near)
    is_start = np.zeros(len(ids), dtype=np.bool_)
    is_start[places] = begins_near(ids[places], marks)
    return is_start


def begins_near(ids: NDArray[np.int32], marks: SentenceMarks) -> NDArray[np.bool_]:
    """Says of each piece if a sentence begins there, given the runs that can decide it."""
    is_word_start, is_gap = marks.is_word_start[ids], marks.is_gap[ids]
    begins = marks.begins[ids]
    # Behind an opening quote or a lone space the same word goes on, or nothing begins.
    goes_on = np.where(is_word_start | is_gap, NO, begins)
    begins = np.where(begins == EITHER, following(goes_on), begins)
    is_behind_line = np.zeros(len(ids), dtype=np.bool_)
    is_behind_line[1:] = is_gap[:-1] & ~is_word_start[:-1]
    is_place = is_word_start | (is_behind_line & ~is_gap)
    ends = marks.ends[ids]
    # What stands behind a space closes nothing before it.
    ends[1:][is_gap[:-1] & is_word_start[:-1] & ~is_gap[1:] & (ends[1:] == EITHER)] = NO
    is_start: NDArray[np.bool_] = is_place & (begins == YES) & (preceding(ends) == YES)
    return is_start


def preceding(values: NDArray[np.int8]) -> NDArray[np.int8]:
    """Returns for each place the last value before it that is decided, or no."""
    decided = np.where(values != EITHER, np.arange(1, len(values) + 1), 0)
    last = np.maximum.accumulate(decided)
    shifted = np.concatenate([np.zeros(1, dtype=last.dtype), last[:-1]])[: len(values)]
    found: NDArray[np.int8] = np.concatenate([np.full(1, NO, dtype=np.int8), values])[shifted]
    return found


def following(values: NDArray[np.int8]) -> NDArray[np.int8]:
    """Returns for each place the first value behind it that is decided, or no."""
    return preceding(values[::-1])[::-1]
