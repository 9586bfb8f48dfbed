"""Files of text that is already cut into pieces, told by their names."""

from pathlib import Path

from headstart.corpora.compression import without_compression

CUT_SUFFIX = ".spm"


def is_cut(path: Path) -> bool:
    """Whether a file's name says that its text is already cut."""
    return without_compression(path).suffix.lower() == CUT_SUFFIX
