"""Texts with blanks in them: `<mask>` as a person types it, and as a masked trunk has seen it."""

from headstart.cut_text import WORD_START
from headstart.errors import DataError
from headstart.tokenizers.pieces import MASK
from headstart.tokenizers.spans import cut_with_spans
from headstart.tokenizers.tokenizer import Tokenizer

# Letters without a meaning, of which no text has all; no piece reaches across one.
PRIVATE_LETTERS = range(0xE000, 0xF8FF)


def encode_with_blanks(tokenizer: Tokenizer, text: str) -> list[int]:
    """Returns the ids of a text; a blank takes the place of a piece and of the space before it."""
    if MASK not in text:
        raise DataError(f"There is no {MASK} in the text. Write {MASK} where something is missing.")
    blank = next(letter for letter in map(chr, PRIVATE_LETTERS) if letter not in text)
    marked = text.replace(MASK, blank)
    ids: list[int] = []
    for number, piece, begin, end in cut_with_spans(tokenizer, marked):
        num_blanks = marked[begin:end].count(blank)
        # Of a blank's letter there may be several bytes, and the space before it is its own.
        is_part = begin == end and marked[begin:][:1] == blank
        is_space = piece == WORD_START and marked[end:][:1] == blank
        if num_blanks:
            ids += [tokenizer.id_of[MASK]] * num_blanks
        elif not is_part and not is_space:
            ids.append(number)
    return ids
