"""Data sets of the Hugging Face hub, or folders laid out like them, as rows; none of it is kept.

The `datasets` library finds and reads the files, a stream at a time. From its version 4 on it runs
no code of a data set, which is why an older one is refused.
"""

import hashlib
import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from headstart.corpora.compression import Meter
from headstart.corpora.places import Place
from headstart.corpora.rows import Row, first_line
from headstart.errors import DataError

HUB_PREFIX = "hub:"
FOLDER_STARTS = (".", "/", "~")
DEFAULT_SPLIT = "train"
OLDEST_VERSION = 4
FORM = "hub:OWNER/NAME, hub:OWNER/NAME:SPLIT or hub:OWNER/NAME:CONFIG:SPLIT"

Cells = Mapping[str, object]
LoadDataSet = Callable[..., Iterable[Cells]]


@dataclass(frozen=True)
class HubName:
    """Which rows of which data set: the split of one of its configurations."""

    repository: str
    """OWNER/NAME on the hub, or a folder."""
    config: str | None
    split: str


def is_hub(name: str | Path) -> bool:
    """Whether a name, or the path made of it, stands for a data set of the hub."""
    return str(name).startswith(HUB_PREFIX)


def hub_name(name: str | Path) -> HubName:
    """Returns what a name says, or an error that says how such names look."""
    repository, *rest = Path(name).as_posix().removeprefix(HUB_PREFIX).split(":")
    is_folder = repository.startswith(FOLDER_STARTS)
    if len(rest) > 2 or not (is_folder or is_owned(repository)):
        raise DataError(
            f"{name} names no data set. Write {FORM}; a folder instead begins with a dot or a "
            "slash, as hub:./reviews does."
        )
    if is_folder and not Path(repository).expanduser().is_dir():
        raise DataError(f"There is no folder {repository}, which {name} names. Check the name.")
    config = rest[0] if len(rest) == 2 else ""
    return HubName(repository, config or None, (rest[-1] if rest else "") or DEFAULT_SPLIT)


def is_owned(repository: str) -> bool:
    """Whether a name has an owner before it; without one it could be a format of the library's."""
    owner, _, name = repository.partition("/")
    return bool(owner and name) and "/" not in name


def read_hub(path: Path, meter: Meter) -> Iterator[Row]:
    """Yields the rows of a split as they arrive; the letters of their text are counted as bytes."""
    for number, cells in enumerate(cells_of(path), start=1):
        meter.num_bytes += sum(len(cell) for cell in cells.values() if isinstance(cell, str))
        yield Row(Place(path, number), cells)


def hub_sha256(path: Path) -> str:
    """Returns the SHA-256 of every row, so that a data set which has changed is noticed."""
    digest = hashlib.sha256()
    for cells in cells_of(path):
        digest.update(json.dumps(cells, default=repr).encode() + b"\n")
    return digest.hexdigest()


def cells_of(path: Path) -> Iterator[Cells]:
    """Yields the cells of each row; whatever the library raises becomes one sentence."""
    name = hub_name(path)
    load_dataset = find_library(path)
    folder = Path(name.repository).expanduser()
    where = str(folder) if name.repository.startswith(FOLDER_STARTS) else name.repository
    try:
        yield from load_dataset(where, name.config, split=name.split, streaming=True)
    except Exception as error:  # of the library, its readers, or the client that fetches for it
        raise DataError(
            f"Cannot read {path}: {first_line(error)}. Check the connection and the name, which is "
            f"read as {FORM}."
        ) from error


def find_library(path: Path) -> LoadDataSet:
    """Returns the function that opens a data set, or says how to get the library that has it."""
    try:
        library = importlib.import_module("datasets")
        version = int(str(library.__version__).split(".")[0])
    except ImportError as error:
        raise not_installed(path, "is not installed") from error
    if version < OLDEST_VERSION:
        raise not_installed(path, f"is there as {library.__version__}, too old to be safe")
    return cast(LoadDataSet, library.load_dataset)


def not_installed(path: Path, what: str) -> DataError:
    """Returns the error for a library that is missing or too old."""
    return DataError(
        f"{path} is read with the datasets library, which {what}. "
        "Run: pip install 'headstart[hub]'."
    )
