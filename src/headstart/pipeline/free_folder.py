"""Which folders a run or a comparison may be begun in: only those that hold nothing else."""

import contextlib
import shutil
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from headstart.corpora.leaks import SKETCH_FILE
from headstart.errors import RunError
from headstart.files import PART, write_bytes
from headstart.locks import LOCK
from headstart.pipeline.run_files import (
    CARD_FILE,
    CHECKPOINTS_FOLDER,
    CORPUS_FILE,
    EXAMPLES_FILE,
    EXAMPLES_TABLE,
    LOG_FILE,
    MANIFEST_FILE,
    OTHER_WEIGHTS_FILES,
    PAIRS_FILE,
    RECIPE_FILE,
    RESULTS_FILE,
    SEEN_FILE,
    START_FACTS_FILE,
    START_FILE,
    SWAP_FILE,
    TARGET_TOKENIZER_FOLDER,
    TAUGHT_FILE,
    TEST_FILE,
    TOKENIZER_FOLDER,
    WEIGHTS_FILE,
    require_no_run,
)
from headstart.pipeline.tensorboard import TENSORBOARD_FOLDER

# There as long as something is only begun, so that what a killed attempt has left is known as such.
BEGUN = ".begun"
# What comes to lie in any folder: a lock, what killed writers left, what systems and desktops keep.
LITTER = (
    *(LOCK, BEGUN, f".*{PART}", ".DS_Store", "._*", "Thumbs.db", "desktop.ini", "lost+found"),
    *(".nfs*", ".gitkeep", ".gitignore", ".ipynb_checkpoints"),
)
# Where shells send what a command prints, before it has begun.
OUTPUTS = ("*.log", "*.out")
# All that is written before the recipe, which an attempt that was killed may leave.
BEGINNING_NAMES = (
    *(TOKENIZER_FOLDER, TARGET_TOKENIZER_FOLDER, TENSORBOARD_FOLDER, SKETCH_FILE, CORPUS_FILE),
    *(START_FILE, START_FACTS_FILE, EXAMPLES_TABLE, EXAMPLES_FILE, SEEN_FILE, TAUGHT_FILE),
    *(SWAP_FILE, PAIRS_FILE),
)
# All that a run writes into its folder, as patterns.
RUN_NAMES = (
    *(*BEGINNING_NAMES, RECIPE_FILE, CHECKPOINTS_FOLDER, LOG_FILE, WEIGHTS_FILE),
    *(*OTHER_WEIGHTS_FILES.values(), TEST_FILE, RESULTS_FILE, MANIFEST_FILE, "curves.*", CARD_FILE),
)
# What a comparison begins with: its question, its splits, what the leak guard found; and of a demo
# its texts and its trunks.
EXAMPLES_FOLDER, LEAKS_FILE, QUESTION_FILE = "examples", "leaks.json", "question.json"
TEXT_FOLDER, ADAPTED_FOLDER, TINY_FOLDER = "text", "adapted", "tiny"


def require_free(folder: Path) -> None:
    """Raises an error where a run was begun already, or where something else is."""
    require_no_run(folder)
    require_own(folder, BEGINNING_NAMES if (folder / BEGUN).exists() else ())


def require_own(folder: Path, own: Iterable[str]) -> None:
    """Raises an error where a folder holds what others have put there, before it is touched."""
    if (other := first_other(folder, (*own, *OUTPUTS))) is not None:
        raise RunError(
            f"{folder} is in use for something else: it holds {other.name}. Choose a folder that "
            "is new or empty."
        )


def first_other(folder: Path, own: Iterable[str]) -> Path | None:
    """Returns the first thing in a folder that fits none of some patterns and is no litter."""
    patterns = (*own, *LITTER)
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    fits = (any(fnmatchcase(path.name, pattern) for pattern in patterns) for path in paths)
    return next((path for path, is_own in zip(paths, fits, strict=True) if not is_own), None)


@contextlib.contextmanager
def beginning(folder: Path) -> Iterator[None]:
    """Holds a block that begins a run in a free folder; what it wrote goes again if it fails."""
    require_free(folder)
    is_new = not folder.exists()
    before = set() if is_new else set(folder.iterdir())
    write_bytes(folder / BEGUN, b"")
    try:
        yield
    except BaseException:
        if (folder / RECIPE_FILE).exists():
            raise  # there is a run by now, which can be gone on with
        for path in {folder / name for name in (*BEGINNING_NAMES, BEGUN)} - before:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
        if is_new:
            with contextlib.suppress(OSError):  # something else is in it by now
                folder.rmdir()
        raise
    mark_as_there(folder)


def mark_as_there(folder: Path) -> None:
    """Says of what was begun in a folder that it is there by now, and known by its own files."""
    (folder / BEGUN).unlink(missing_ok=True)


def claim_comparison(folder: Path, first_file: str) -> None:
    """Raises an error where a folder is a run, or holds what is no comparison's of this kind.

    Beside one that has its first file anything may lie: no job and no report takes its place.
    """
    require_no_run(folder)
    if (folder / first_file).is_file():
        return
    own = (EXAMPLES_FOLDER, TEXT_FOLDER, ADAPTED_FOLDER, TINY_FOLDER)
    require_own(folder, own if (folder / BEGUN).exists() else ())
    write_bytes(folder / BEGUN, b"")
