"""A finished token store, mapped into memory: any stretch is read without the rest."""

from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headstart.batches.store_format import check_shard, offsets, read_manifest, shard_path
from headstart.errors import DataError, FileError
from headstart.files import check_sha256


class TokenStore:
    """The tokens of a corpus as one long row, with where its documents and sentences begin."""

    def __init__(self, folder: Path) -> None:
        manifest = read_manifest(folder)
        if manifest is None or not manifest.is_complete:
            state = "is not finished" if manifest else "is no token store"
            raise DataError(f"{folder} {state}. Make it again from its text.")
        self.folder = folder
        self.manifest = manifest
        self._tokens: dict[int, NDArray[np.generic]] = {}
        self._shard_starts = offsets(np.array([shard.num_tokens for shard in manifest.shards]))
        for number in range(len(manifest.shards)):
            self._layout("tokens", number)

    @property
    def num_tokens(self) -> int:
        """The tokens of all shards."""
        return int(self._shard_starts[-1])

    @property
    def num_bytes(self) -> int:
        """The UTF-8 bytes of the text that the tokens stand for."""
        return sum(shard.num_bytes for shard in self.manifest.shards)

    @cached_property
    def document_starts(self) -> NDArray[np.int64]:
        """Where each document begins, and where the last one ends."""
        return self._starts("documents")

    @cached_property
    def sentence_starts(self) -> NDArray[np.int64]:
        """Where each sentence begins, and where the last one ends."""
        return self._starts("sentences")

    def tokens(self, start: int, stop: int) -> NDArray[np.int64]:
        """Returns the tokens from one place up to another."""
        first = int(self._shard_starts.searchsorted(start, side="right")) - 1
        pieces = []
        while start < stop:
            begin, end = self._shard_starts[first], min(stop, self._shard_starts[first + 1])
            pieces.append(self._tokens_of(first)[start - begin : end - begin])
            start, first = int(end), first + 1
        return np.concatenate(pieces, dtype=np.int64) if pieces else np.zeros(0, dtype=np.int64)

    def check(self) -> None:
        """Raises an error unless every file is, byte for byte, the one that was written."""
        for number in range(len(self.manifest.shards)):
            check_shard(self.folder, self.manifest, number)

    def _tokens_of(self, number: int) -> NDArray[np.generic]:
        """Returns the tokens of a shard, mapped when they are first asked for."""
        if number not in self._tokens:
            self._tokens[number] = self._map("tokens", number)
        return self._tokens[number]

    def _starts(self, kind: str) -> NDArray[np.int64]:
        """Joins the beginnings of all shards into one row."""
        rows = [
            self._map(kind, number)[:-1] + self._shard_starts[number]
            for number in range(len(self.manifest.shards))
        ]
        return np.concatenate([*rows, self._shard_starts[-1:]])

    def _map(self, kind: str, number: int) -> NDArray[np.generic]:
        """Maps one file of a shard, whose bytes must be those that were written."""
        path = shard_path(self.folder, number, kind)
        dtype, count = self._layout(kind, number)
        # Once in a process, a shard at a time: a flipped bit is found before it is learned from.
        check_sha256(path, self.manifest.shards[number].sha256[kind])
        try:
            # As a plain array: a slice of a mapped one takes ten times as long.
            return np.asarray(np.memmap(path, dtype=dtype, mode="r", shape=(count,)))
        except OSError as error:
            raise FileError(f"Cannot read {path}: {error.strerror or error}.") from error

    def _layout(self, kind: str, number: int) -> tuple[np.dtype[np.generic], int]:
        """Returns what one file of a shard holds, which must be as long as the manifest says."""
        path = shard_path(self.folder, number, kind)
        shard = self.manifest.shards[number]
        dtype, count = {
            "tokens": (self.manifest.dtype, shard.num_tokens),
            "documents": (np.dtype("<i8"), shard.num_documents + 1),
            "sentences": (np.dtype("<i8"), shard.num_sentences + 1),
        }[kind]
        try:
            num_bytes = path.stat().st_size
        except OSError as error:
            raise FileError(f"Cannot read {path}: {error.strerror or error}.") from error
        if num_bytes != count * dtype.itemsize:
            raise DataError(f"{path} is cut short. Remove {self.folder} and make it again.")
        return dtype, count
