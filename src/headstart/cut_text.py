"""Text cut into SentencePiece pieces: spaces between them, `▁` for a word's start.

Those who read such text and those who cut it are neighbours that do not import one another.
"""

# SentencePiece's sign for the beginning of a word.
WORD_START = "▁"


def joined_pieces(text: str) -> str:
    """Returns cut text as people write it."""
    return text.replace(" ", "").replace(WORD_START, " ").strip()
