"""Documents to a token store: shard by shard, durably, going on where an interruption left it."""

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.batches.store_format import (
    Manifest,
    Shard,
    offsets,
    read_manifest,
    shard_path,
    write_manifest,
)
from headstart.corpora.documents import Document
from headstart.errors import DataError
from headstart.files import locked, write_bytes
from headstart.tokenizers.pieces import END_ID
from headstart.tokenizers.sentences import sentences
from headstart.tokenizers.tokenizer import CutTexts, Ids, Tokenizer

# About 32 MB of 16-bit ids: little to do again after an interruption, few files in all.
NUM_SHARD_TOKENS = 1 << 24
# Enough text at once to keep every thread busy, little enough to hold.
NUM_BATCH_LETTERS = 1 << 21
END = np.array([END_ID], dtype=np.int32)


@dataclass
class Collected:
    """The ids of documents that wait to be written as a shard."""

    ids: list[Ids] = field(default_factory=list)
    document_lengths: list[int] = field(default_factory=list)
    sentence_lengths: list[int] = field(default_factory=list)
    num_tokens: int = 0
    num_bytes: int = 0

    def add(self, document: Document, ids: Ids, sentence_lengths: list[int]) -> None:
        """Takes in a document, with an end behind it that belongs to its last sentence."""
        self.ids += [ids, END]
        self.document_lengths.append(len(ids) + 1)
        self.sentence_lengths += [*sentence_lengths[:-1], sentence_lengths[-1] + 1]
        self.num_tokens += len(ids) + 1
        self.num_bytes += len(document.plain.encode())


def write_store(
    documents: Iterable[Document],
    tokenizer: Tokenizer,
    folder: Path,
    manifest: Manifest,
    num_threads: int,
) -> Manifest:
    """Encodes documents into a folder; what an earlier attempt finished is not done again."""
    with locked(folder):
        manifest = resumed(folder, manifest)
        if manifest.is_complete:
            return manifest
        remaining = iter(documents)
        num_done = sum(shard.num_documents for shard in manifest.shards)
        skip(remaining, num_done)
        collected = Collected()
        for encoded in encode_ahead(batched(remaining), tokenizer, num_threads):
            collect(encoded, tokenizer, collected)
            if collected.num_tokens >= NUM_SHARD_TOKENS:
                manifest = with_shard(folder, manifest, collected)
                collected = Collected()
        if collected.document_lengths:
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
        ("the text", list(found.sources.items()), list(wanted.sources.items())),
        ("the way of reading", found.reading, wanted.reading),
    ):
        if old != new:
            raise DataError(
                f"{folder} was made with another {what.removeprefix('the ')} ({old} then, {new} "
                "now). Choose another folder, or remove this one."
            )
    return found


def skip(documents: Iterator[Document], count: int) -> None:
    """Reads past documents that are already stored."""
    num_skipped = sum(1 for _ in islice(documents, count))
    if num_skipped < count:
        raise DataError(f"The text has {num_skipped:,} documents where {count:,} were stored.")


def batched(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Yields documents in batches of about so many letters."""
    batch: list[Document] = []
    num_letters = 0
    for document in documents:
        batch.append(document)
        num_letters += len(document.text)
        if num_letters >= NUM_BATCH_LETTERS:
            yield batch
            batch, num_letters = [], 0
    if batch:
        yield batch


class Encoded(NamedTuple):
    """A batch of documents, the sentences of each, and the ids of all sentences."""

    batch: list[Document]
    sentences: list[list[str]]
    cut: CutTexts


def encode_ahead(
    batches: Iterable[list[Document]], tokenizer: Tokenizer, num_threads: int
) -> Iterator[Encoded]:
    """Yields batches encoded; while one is being cut, the next is read and the last is used."""
    with ThreadPoolExecutor(max_workers=1) as worker:
        waiting: tuple[list[Document], list[list[str]], Future[CutTexts]] | None = None
        for batch in batches:
            # Text that is already cut has its pieces, and no sentences to find.
            parts = [[] if document.is_cut else sentences(document.text) for document in batch]
            texts = list(chain.from_iterable(parts))
            job = worker.submit(tokenizer.encode_all, texts, num_threads)
            if waiting is not None:
                yield Encoded(waiting[0], waiting[1], waiting[2].result())
            waiting = (batch, parts, job)
        if waiting is not None:
            yield Encoded(waiting[0], waiting[1], waiting[2].result())


def collect(encoded: Encoded, tokenizer: Tokenizer, collected: Collected) -> None:
    """Takes in an encoded batch, document by document."""
    places = offsets(encoded.cut.lengths)
    first = 0
    for document, row in zip(encoded.batch, encoded.sentences, strict=True):
        if document.is_cut:
            ids = tokenizer.encode_cut(document.text)
            collected.add(document, ids, [len(ids)])
            continue
        last = first + len(row)
        ids = encoded.cut.ids[places[first] : places[last]]
        collected.add(document, ids, encoded.cut.lengths[first:last].tolist())
        first = last


def with_shard(folder: Path, manifest: Manifest, collected: Collected) -> Manifest:
    """Writes the next shard, then the manifest that names it."""
    number = len(manifest.shards)
    arrays: dict[str, NDArray[np.generic]] = {
        "tokens": np.concatenate(collected.ids).astype(manifest.dtype),
        "documents": offsets(np.array(collected.document_lengths, dtype=np.int64)),
        "sentences": offsets(np.array(collected.sentence_lengths, dtype=np.int64)),
    }
    shard = Shard(
        num_tokens=len(arrays["tokens"]),
        num_documents=len(collected.document_lengths),
        num_sentences=len(collected.sentence_lengths),
        num_bytes=collected.num_bytes,
        sha256={
            kind: write_bytes(shard_path(folder, number, kind), array.tobytes())
            for kind, array in arrays.items()
        },
    )
    manifest = replace(manifest, shards=(*manifest.shards, shard))
    write_manifest(folder, manifest)
    return manifest
