"""Files of text that is already cut into pieces, told by their names."""

from pathlib import Path

from headstart.corpora.compression import kind_of

CUT_SUFFIX = ".spm"


def is_cut(path: Path) -> bool:
    """Whether a file's name says that its text is already cut."""
    return kind_of(path) == CUT_SUFFIX
