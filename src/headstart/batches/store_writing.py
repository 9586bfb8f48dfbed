"""Documents to a token store: shard by shard, durably, going on where an interruption left it."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.batches.store_format import (
    Manifest,
    Shard,
    check_shard,
    offsets,
    read_manifest,
    shard_path,
    write_manifest,
)
from headstart.corpora.documents import Document
from headstart.errors import DataError
from headstart.files import sweep, write_bytes
from headstart.locks import locked
from headstart.tokenizers.pieces import END_ID
from headstart.tokenizers.sentences import begins_sentence, sentence_marks
from headstart.tokenizers.tokenizer import Ids, Tokenizer

# About 8 MB of 16-bit ids: little to hold, little to do again after an interruption, and of a
# gigabyte of text some forty shards.
NUM_SHARD_TOKENS = 1 << 22
# Enough text at once to keep every thread busy, little enough to hold.
NUM_BATCH_LETTERS = 1 << 21
# How many files of a changed corpus are named.
NUM_NAMED = 3
# How many batches are read ahead of the one in use: while one is cut, another is made an array.
NUM_AHEAD = 2


@dataclass
class Collected:
    """Documents that wait to be written as a shard: for each batch of them, flat arrays."""

    ids: list[NDArray[np.generic]] = field(default_factory=list)
    document_lengths: list[NDArray[np.int64]] = field(default_factory=list)
    sentence_lengths: list[NDArray[np.int64]] = field(default_factory=list)
    num_tokens: int = 0
    num_bytes: int = 0

    def add(self, encoded: "Encoded", dtype: np.dtype[np.uint16] | np.dtype[np.uint32]) -> None:
        """Takes in a batch."""
        self.ids.append(encoded.ids.astype(dtype))
        self.document_lengths.append(encoded.document_lengths)
        self.sentence_lengths.append(encoded.sentence_lengths)
        self.num_tokens += len(encoded.ids)
        self.num_bytes += encoded.num_bytes


def write_store(
    documents: Iterable[Document],
    tokenizer: Tokenizer,
    folder: Path,
    manifest: Manifest,
    num_threads: int,
) -> Manifest:
    """Encodes documents into a folder; what an earlier attempt finished is not done again."""
    with locked(folder):
        return fill_store(documents, tokenizer, folder, manifest, num_threads)


def fill_store(
    documents: Iterable[Document],
    tokenizer: Tokenizer,
    folder: Path,
    manifest: Manifest,
    num_threads: int,
) -> Manifest:
    """Does the same for whoever holds the folder already, to do more there than encode."""
    sweep(folder)
    manifest = resumed(folder, manifest)
    if manifest.is_complete:
        return manifest
    remaining = iter(documents)
    num_done = sum(shard.num_documents for shard in manifest.shards)
    skip(remaining, num_done)
    collected = Collected()
    for encoded in encode_ahead(batched(remaining), tokenizer, num_threads):
        collected.add(encoded, manifest.dtype)
        if collected.num_tokens >= NUM_SHARD_TOKENS:
            manifest = with_shard(folder, manifest, collected)
            collected = Collected()
    if collected.num_tokens:
        manifest = with_shard(folder, manifest, collected)
    manifest = replace(manifest, is_complete=True)
    write_manifest(folder, manifest)
    return manifest


def resumed(folder: Path, wanted: Manifest) -> Manifest:
    """Returns the manifest of an earlier attempt, which must have been at the same thing."""
    found = read_manifest(folder)
    if found is None:
        write_manifest(folder, wanted)
        return wanted
    for what, old, new in (
        ("the tokenizer", found.tokenizer[:12], wanted.tokenizer[:12]),
        ("the text", *changed_sources(found.sources, wanted.sources)),
        ("the way of reading", found.reading, wanted.reading),
    ):
        if old != new:
            raise DataError(
                f"{folder} was made with another {what.removeprefix('the ')} ({old} then, {new} "
                "now). Choose another folder, or remove this one."
            )
    # Nothing is added to what is damaged.
    for number in range(len(found.shards)):
        check_shard(folder, found, number)
    return found


def changed_sources(old: dict[str, str], new: dict[str, str]) -> tuple[str, str]:
    """Returns the files that are not the same then and now, in short; order counts too."""
    if list(old.items()) == list(new.items()):
        return "", ""
    names = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
    if not names:
        return ", ".join(map(repr, old)), ", ".join(map(repr, new))
    rest = f" and {len(names) - NUM_NAMED:,} more" if len(names) > NUM_NAMED else ""
    told = [
        ", ".join(f"{name!r} {of.get(name, 'absent')[:12]}" for name in names[:NUM_NAMED]) + rest
        for of in (old, new)
    ]
    return told[0], told[1]


def skip(documents: Iterator[Document], count: int) -> None:
    """Reads past documents that are already stored."""
    num_skipped = sum(1 for _ in islice(documents, count))
    if num_skipped < count:
        raise DataError(f"The text has {num_skipped:,} documents where {count:,} were stored.")


def batched(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Yields documents in batches of about so many letters, all cut already or none."""
    batch: list[Document] = []
    num_letters = 0
    for document in documents:
        is_full = num_letters >= NUM_BATCH_LETTERS
        if batch and (is_full or document.is_cut != batch[0].is_cut):
            yield batch
            batch, num_letters = [], 0
        batch.append(document)
        num_letters += len(document.text)
    if batch:
        yield batch


class Encoded(NamedTuple):
    """A batch of documents as ids, each with an end that belongs to its last sentence."""

    ids: Ids
    document_lengths: NDArray[np.int64]
    sentence_lengths: NDArray[np.int64]
    num_bytes: int
    """The UTF-8 bytes of their text."""


def encode_ahead(
    batches: Iterable[list[Document]], tokenizer: Tokenizer, num_threads: int
) -> Iterator[Encoded]:
    """Yields batches encoded, in their order; meanwhile the next ones are read and cut."""
    with ThreadPoolExecutor(max_workers=NUM_AHEAD) as workers:
        waiting: deque[Future[Encoded]] = deque()
        for batch in batches:
            waiting.append(workers.submit(encode, batch, tokenizer, num_threads))
            if len(waiting) > NUM_AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def encode(batch: Sequence[Document], tokenizer: Tokenizer, num_threads: int) -> Encoded:
    """Cuts documents into ids and finds their sentences."""
    texts = [document.text for document in batch]
    if batch[0].is_cut:
        cut = tokenizer.encode_all_cut(texts)
    else:
        cut = tokenizer.encode_all(texts, num_threads)
    ids = np.insert(cut.ids, np.cumsum(cut.lengths), END_ID)
    document_lengths = cut.lengths + 1
    is_start = begins_sentence(ids, sentence_marks(tokenizer.vocabulary))
    is_start[offsets(document_lengths)[:-1]] = True
    sentence_lengths = np.diff(np.flatnonzero(is_start), append=len(ids))
    num_bytes = sum(len(document.plain.encode()) for document in batch)
    return Encoded(ids, document_lengths, sentence_lengths, num_bytes)


def with_shard(folder: Path, manifest: Manifest, collected: Collected) -> Manifest:
    """Writes the next shard, then the manifest that names it."""
    number = len(manifest.shards)
    arrays: dict[str, NDArray[np.generic]] = {
        "tokens": np.concatenate(collected.ids),
        "documents": offsets(np.concatenate(collected.document_lengths)),
        "sentences": offsets(np.concatenate(collected.sentence_lengths)),
    }
    shard = Shard(
        num_tokens=len(arrays["tokens"]),
        num_documents=len(arrays["documents"]) - 1,
        num_sentences=len(arrays["sentences"]) - 1,
        num_bytes=collected.num_bytes,
        sha256={
            kind: write_bytes(shard_path(folder, number, kind), array.data)
            for kind, array in arrays.items()
        },
    )
    manifest = replace(manifest, shards=(*manifest.shards, shard))
    write_manifest(folder, manifest)
    return manifest
