"""Whether a name stands for a file that can be read as text, said before anything is read."""

from collections.abc import Callable
from pathlib import Path

from headstart.errors import DataError

# What the bytes say of a file that no program writes as text, and the endings of such files.
FOREIGN_MARKS = {
    b"PK\x03\x04": "a spreadsheet, a document or another archive",
    b"\xd0\xcf\x11\xe0": "a spreadsheet or document of an office program",
    b"%PDF-": "a PDF",
}
FOREIGN_SUFFIXES = (".xlsx", ".xls", ".xlsm", ".ods", ".docx", ".doc", ".odt", ".pdf")
NUM_MARK_BYTES = max(map(len, FOREIGN_MARKS))


def is_there(path: Path, is_such: Callable[[Path], bool] = Path.exists) -> bool:
    """Whether something, or such a thing, has this name; one that none can have is nobody's."""
    try:
        return is_such(path)
    except (OSError, ValueError):
        return False


def require_regular(path: Path) -> None:
    """Raises an error for a stream or device, which gives its bytes once, or never ends."""
    if is_there(path) and not (path.is_file() or path.is_dir()):
        raise DataError(
            f"{path} is a stream or a device, and what it gives can be read only once. Write it "
            "into a file, and name that."
        )


def require_present(path: Path, advice: str) -> None:
    """Raises an error with its advice where nothing has that name."""
    if not is_there(path):
        raise DataError(f"There is no file {str(path)!r}. {advice}.")


def require_text(path: Path) -> None:
    """Raises an error for a spreadsheet or a document, by its ending or its first bytes."""
    if path.suffix.lower() in FOREIGN_SUFFIXES:
        raise foreign(path, f"called {path.suffix}, as a spreadsheet or document is")
    try:
        with path.open("rb") as handle:
            refuse_foreign(path, handle.read(NUM_MARK_BYTES))
    except (OSError, ValueError):
        return  # the reading itself will tell


def refuse_foreign(path: Path, beginning: bytes) -> None:
    """Raises an error where the first bytes of a file are those of a spreadsheet or document."""
    for mark, kind in FOREIGN_MARKS.items():
        if beginning.startswith(mark):
            raise foreign(path, kind)


def foreign(path: Path, kind: str) -> DataError:
    """Returns the error for a file that another program must write as text first."""
    return DataError(
        f"{path} is {kind}, which cannot be read. Save it as .csv or .txt, and name that."
    )
