"""The special pieces, and the ids that they have in every vocabulary of ours."""

from collections.abc import Mapping

START, PADDING, END, UNKNOWN = "<sos>", "<pad>", "<eos>", "<oov>"
MASK, FIRST, SEPARATOR = "<mask>", "<first>", "<sep>"

# As in the documents' dictionary: every vocabulary begins with these, in this order.
BASIC_PIECES = (START, PADDING, END, UNKNOWN)
START_ID, PADDING_ID, END_ID, UNKNOWN_ID = range(4)

SPECIAL_PIECES = (MASK, FIRST, SEPARATOR)
# SentencePiece's sign for the beginning of a word.
WORD_START = "▁"

# What an objective needs beyond the basic pieces.
OBJECTIVE_PIECES: Mapping[str, tuple[str, ...]] = {
    "causal": (),
    "masked": (MASK,),
    "masked+next": (MASK, FIRST, SEPARATOR),
    "translation": (),
}
