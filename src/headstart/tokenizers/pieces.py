"""The special pieces, and the ids that they have in every vocabulary of ours."""

import re
from collections.abc import Mapping

START, PADDING, END, UNKNOWN = "<sos>", "<pad>", "<eos>", "<oov>"
MASK, FIRST, SEPARATOR = "<mask>", "<first>", "<sep>"

# As in the documents' dictionary: every vocabulary begins with these, in this order.
BASIC_PIECES = (START, PADDING, END, UNKNOWN)
START_ID, PADDING_ID, END_ID, UNKNOWN_ID = range(4)

SPECIAL_PIECES = (MASK, FIRST, SEPARATOR)
# The pieces in which SentencePiece spells what has none: <0x41> is one byte.
BYTE_PIECE = re.compile(r"<0x([0-9A-F]{2})>")

# What an objective needs beyond the basic pieces.
OBJECTIVE_PIECES: Mapping[str, tuple[str, ...]] = {
    "causal": (),
    "masked": (MASK,),
    "masked+next": (MASK, FIRST, SEPARATOR),
    "translation": (),
}


def piece_bytes(piece: str) -> bytes | None:
    """Returns the byte that a piece spells, or nothing for a piece of letters."""
    match = BYTE_PIECE.fullmatch(piece)
    return bytes.fromhex(match[1]) if match else None
