"""The pieces of a text with the characters that each of them stands for."""

from typing import NamedTuple

from headstart.tokenizers.tokenizer import Tokenizer


class PieceSpan(NamedTuple):
    """A piece, and the characters `text[begin:end]` that it stands for."""

    id: int
    piece: str
    begin: int
    end: int
    """Where it begins, for the first bytes of a letter and for a space that nobody typed."""


def cut_with_spans(tokenizer: Tokenizer, text: str) -> list[PieceSpan]:
    """Cuts a text into the pieces of `encode`, each with its place in the text."""
    found = tokenizer.processor.encode(tokenizer.prepared(text), return_type="offset_mapping")
    ids = tokenizer.table[found["ids"]].tolist() if found["ids"] else []
    return [
        PieceSpan(number, piece, begin, end)
        for number, piece, (begin, end) in zip(ids, found["pieces"], found["offsets"], strict=True)
    ]
