"""Sources that are longer than the positions of a translator, in parts that fit."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headstart.tokenizers.sentences import begins_sentence, sentence_marks
from headstart.tokenizers.tokenizer import Ids


@dataclass(frozen=True)
class SourcePart:
    """A stretch of a text's pieces that is translated by itself."""

    begin: int
    """The number of its first piece within the text."""
    ids: tuple[int, ...]


def parts_of(ids: Ids, room: int, vocabulary: tuple[str, ...]) -> list[SourcePart]:
    """Cuts a text where a sentence begins, or else a word, so that no part has more pieces."""
    if len(ids) <= room:
        return [SourcePart(0, tuple(ids.tolist()))]
    marks = sentence_marks(vocabulary)
    sentences = np.flatnonzero(begins_sentence(ids, marks))
    words = np.flatnonzero(marks.is_word_start[ids])
    parts, begin = [], 0
    while begin < len(ids):
        end = min(begin + room, len(ids))
        if end < len(ids):
            end = last_between(sentences, begin, end) or last_between(words, begin, end) or end
        parts.append(SourcePart(begin, tuple(ids[begin:end].tolist())))
        begin = end
    return parts


def last_between(places: NDArray[np.int64], begin: int, end: int) -> int | None:
    """Returns the last place behind `begin` and not behind `end`, if there is one."""
    index = int(np.searchsorted(places, end, side="right")) - 1
    return int(places[index]) if index >= 0 and places[index] > begin else None
