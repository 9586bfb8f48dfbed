"""A toy tokenizer, documents whose sentences are known, and stores made by hand."""

import os
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from headstart.batches.store import TokenStore
from headstart.batches.store_format import Manifest, Shard, shard_path, write_manifest
from headstart.corpora.documents import Document
from headstart.corpora.places import Place
from headstart.files import write_bytes
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer

WORDS = [
    "the",
    "small",
    "green",
    "house",
    "stood",
    "near",
    "river",
    "and",
    "nobody",
    "ever",
    "knew",
]


def toy_sentences(num_documents: int) -> list[list[str]]:
    """Returns the sentences of each of some documents."""
    draw = random.Random(5)
    return [
        [
            " ".join(draw.choices(WORDS, k=draw.randint(1, 9))).capitalize() + draw.choice(".!?")
            for _ in range(draw.randint(1, 5))
        ]
        for _ in range(num_documents)
    ]


@pytest.fixture(scope="module", autouse=True)
def no_flushing():
    """Leaves out the flushing to disk, which others test and which makes hundreds of files slow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _descriptor: None)
        yield


@pytest.fixture(scope="session")
def tokenizer():
    lines = [" ".join(row) for row in toy_sentences(200)]
    return learn_tokenizer(lines, TokenizerConfig(size=300))


@pytest.fixture(scope="session")
def sentence_rows():
    return toy_sentences(60)


@pytest.fixture(scope="session")
def documents(sentence_rows):
    rows = enumerate(sentence_rows, start=1)
    return [Document(" ".join(row), Place(Path("toy.txt"), line)) for line, row in rows]


@pytest.fixture(scope="session")
def manifest(tokenizer):
    return Manifest(
        tokenizer=tokenizer.fingerprint,
        vocabulary_size=tokenizer.size,
        sources={"toy.txt": "0" * 64},
        reading={"documents": "lines"},
    )


@pytest.fixture
def counting_store(tmp_path):
    """Makes a store in which each token is its own place, so that tokens tell where they stood."""

    def make(document_lengths: list[int], num_shards: int = 1) -> TokenStore:
        folder = tmp_path / f"counting-{len(list(tmp_path.iterdir()))}"
        bounds = np.linspace(0, len(document_lengths), num_shards + 1).astype(int)
        shards, start = [], 0
        for number, (first, last) in enumerate(pairwise(bounds)):
            lengths = document_lengths[first:last]
            starts = np.concatenate([[0], np.cumsum(lengths)]).astype("<i8")
            arrays = {
                "tokens": np.arange(start, start + sum(lengths)).astype("<u4"),
                "documents": starts,
                "sentences": starts,
            }
            paths = {kind: shard_path(folder, number, kind) for kind in arrays}
            hashes = {kind: write_bytes(paths[kind], arrays[kind].tobytes()) for kind in arrays}
            shards.append(
                Shard(
                    num_tokens=sum(lengths),
                    num_documents=len(lengths),
                    num_sentences=len(lengths),
                    num_bytes=sum(lengths),
                    sha256=hashes,
                )
            )
            start += sum(lengths)
        made = Manifest(
            tokenizer="f" * 64,
            vocabulary_size=1 << 30,
            sources={},
            reading={},
            shards=tuple(shards),
            is_complete=True,
        )
        write_manifest(folder, made)
        return TokenStore(folder)

    return make
