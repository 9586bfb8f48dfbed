"""Text already cut into SentencePiece pieces: spaces between them, `▁` for a word's start."""

from pathlib import Path

from headstart.corpora.compression import without_compression

CUT_SUFFIX = ".spm"
WORD_START = "▁"


def is_cut(path: Path) -> bool:
    """Whether a file's name says that its text is already cut."""
    return without_compression(path).suffix.lower() == CUT_SUFFIX


def joined_pieces(text: str) -> str:
    """Returns cut text as people write it."""
    return text.replace(" ", "").replace(WORD_START, " ").strip()
