"""Words as pieces make them: one begins where a piece begins with a space."""

from collections.abc import Sequence
from typing import NamedTuple

from headstart.cut_text import WORD_START
from headstart.tokenizers.spans import PieceSpan


class Word(NamedTuple):
    """A word of a text: the characters `text[begin:end]`, spelled by so many pieces."""

    begin: int
    end: int
    ids: tuple[int, ...]


def words_of(text: str, pieces: Sequence[PieceSpan]) -> list[Word]:
    """Returns the words of a text in their order; space belongs to the word behind it."""
    words: list[Word] = []
    begin = 0
    for index, piece in enumerate(pieces):
        is_space_first = piece.piece.startswith(WORD_START) or text[piece.begin :][:1].isspace()
        if is_space_first and (word := word_of(text, pieces[begin:index])):
            words.append(word)
            begin = index
    last = word_of(text, pieces[begin:])
    return [*words, last] if last else words


def word_of(text: str, pieces: Sequence[PieceSpan]) -> Word | None:
    """Returns the word that pieces spell, or nothing where they spell only space."""
    if not pieces:
        return None
    surface = text[pieces[0].begin : pieces[-1].end]
    stripped = surface.strip()
    begin = pieces[0].begin + len(surface) - len(surface.lstrip())
    return (
        Word(begin, begin + len(stripped), tuple(piece.id for piece in pieces))
        if stripped
        else None
    )
