"""Text to token store: the files' hashes, the tokenizer's fingerprint, then the ids."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from headstart.batches.store import TokenStore
from headstart.batches.store_format import Manifest
from headstart.batches.store_writing import write_store
from headstart.corpora.documents import Document, Reading
from headstart.corpora.tables import source_sha256
from headstart.tokenizers.tokenizer import Tokenizer


def make_store(
    paths: Sequence[Path],
    documents: Iterable[Document],
    reading: Reading,
    tokenizer: Tokenizer,
    folder: Path,
    num_threads: int,
) -> TokenStore:
    """Encodes the documents of files into a folder, or goes on where an earlier attempt stopped."""
    manifest = Manifest(
        tokenizer=tokenizer.fingerprint,
        vocabulary_size=tokenizer.size,
        sources={str(path): source_sha256(path) for path in paths},
        reading={
            "documents": reading.documents,
            "text_column": reading.text_column,
            "skips_bad": str(reading.complaints.skips_bad),
        },
    )
    write_store(documents, tokenizer, folder, manifest, num_threads)
    return TokenStore(folder)
