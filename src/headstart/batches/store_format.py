"""What a token store is: shards of ids with their indices, and a manifest that vouches for them."""

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headstart.errors import DamagedFileError
from headstart.files import check_sha256, json_digest, read_json, write_json

MANIFEST_FILE = "manifest.json"
VERSION = 1
# Below this size of a vocabulary, 16 bits hold every id.
NUM_SHORT_IDS = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Shard:
    """One finished part of a store."""

    num_tokens: int
    num_documents: int
    num_sentences: int
    num_bytes: int
    """The UTF-8 bytes of the text that the tokens stand for."""
    sha256: dict[str, str]
    """The SHA-256 of each of its files."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a store was made from, with what, and how far it has come."""

    tokenizer: str
    """The fingerprint of the tokenizer."""
    vocabulary_size: int
    sources: dict[str, str]
    """The SHA-256 of each source file, by its name."""
    reading: dict[str, str | None]
    """How the sources were read."""
    shards: tuple[Shard, ...] = ()
    is_complete: bool = False

    @property
    def dtype(self) -> np.dtype[np.uint16] | np.dtype[np.uint32]:
        """The type of the ids on disk."""
        short, long = np.dtype("<u2"), np.dtype("<u4")
        return short if self.vocabulary_size <= NUM_SHORT_IDS else long


def shard_path(folder: Path, number: int, kind: str) -> Path:
    """Returns the file of one kind, such as tokens or documents, of a shard."""
    return folder / f"shard-{number:05d}.{kind}"


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes the manifest durably; what it does not name does not exist."""
    store = asdict(manifest)
    value = {"version": VERSION, "sha256": json_digest(store), "store": store}
    write_json(folder / MANIFEST_FILE, value)


def read_manifest(folder: Path) -> Manifest | None:
    """Reads a store's manifest, or returns nothing where there is none."""
    path = folder / MANIFEST_FILE
    if not path.exists():
        return None
    value = read_json(path)
    try:
        assert isinstance(value, dict)
        assert set(value) == {"version", "sha256", "store"}
        store = value["store"]
        assert (value["version"], value["sha256"]) == (VERSION, json_digest(store))
        shards = tuple(Shard(**shard) for shard in store.pop("shards"))
        return Manifest(**store, shards=shards)
    except (AssertionError, AttributeError, KeyError, TypeError) as error:
        raise DamagedFileError(
            f"{path} does not describe a token store of this version. Remove {folder} and make it "
            "again."
        ) from error


def check_shard(folder: Path, manifest: Manifest, number: int) -> None:
    """Raises an error unless a shard's files are, byte for byte, the ones that were written."""
    for kind, expected in manifest.shards[number].sha256.items():
        check_sha256(shard_path(folder, number, kind), expected)


def offsets(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns where each of several stretches begins, and where the last one ends."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
