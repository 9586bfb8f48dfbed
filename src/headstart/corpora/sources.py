"""What a person names, files, folders, patterns and data sets of the hub, as a list of paths."""

from collections.abc import Sequence
from pathlib import Path

from headstart.corpora.compression import kind_of
from headstart.corpora.cut_text import CUT_SUFFIX
from headstart.corpora.hub import hub_name, is_hub
from headstart.corpora.presence import is_there, require_regular, require_text
from headstart.corpora.rows import ROW_READERS
from headstart.errors import DataError

TEXT_SUFFIXES = (".txt", ".text", ".md", CUT_SUFFIX)
KNOWN_SUFFIXES = (*TEXT_SUFFIXES, *ROW_READERS)


def find_files(names: Sequence[str]) -> list[Path]:
    """Returns the files that names stand for, in an order that is the same everywhere."""
    paths = [path for name in names for path in files_of(name)]
    if not paths:
        raise DataError("No file was named. Name files, folders or patterns to read.")
    return list(dict.fromkeys(paths))


def files_of(name: str) -> list[Path]:
    """Returns the files that one name stands for; a data set of the hub is as one."""
    path = Path(name)
    if is_hub(name):
        hub_name(name)  # a name that cannot be one is refused before anything is read
        return [path]
    if name and is_there(path, Path.is_dir):
        found = sorted(
            inside for inside in path.rglob("*") if inside.is_file() and is_known(inside)
        )
        if not found:
            known = ", ".join(KNOWN_SUFFIXES)
            raise DataError(f"The folder {path} holds no text. Files that are read: {known}.")
        return found
    if is_there(path, Path.is_file):
        require_text(path)
        return [path]
    found = matches(path)
    if not found:
        require_regular(path)
        raise DataError(f"There is no file {name!r}. Check the name; a pattern needs quotes.")
    return found


def matches(pattern: Path) -> list[Path]:
    """Returns the files that can be read as text which a pattern stands for, folders opened."""
    try:
        found = sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))
    except (
        OSError,
        ValueError,
        NotImplementedError,
        IndexError,
    ):  # what pathlib says of an odd pattern
        return []
    folders = [path for path in found if is_there(path, Path.is_dir)]
    inside = [path for folder in folders for path in sorted(folder.rglob("*"))]
    return [path for path in (*found, *inside) if is_there(path, Path.is_file) and is_known(path)]


def is_known(path: Path) -> bool:
    """Whether a file's name says that it can be read as text, compressed or not."""
    return kind_of(path) in KNOWN_SUFFIXES


def total_bytes(paths: Sequence[Path]) -> int | None:
    """Returns the size of files on disk, compressed as they stand there; unknown for the hub."""
    if any(is_hub(path) for path in paths):
        return None
    return sum(path.stat().st_size for path in paths)
