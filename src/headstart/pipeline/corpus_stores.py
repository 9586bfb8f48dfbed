"""A corpus to two token stores, one to learn from and one held out, kept in the user's cache."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from headstart.batches.store import TokenStore
from headstart.batches.store_format import Manifest
from headstart.batches.store_writing import fill_store
from headstart.corpora.compression import Meter, kind_of
from headstart.corpora.documents import Document, DocumentKind, Reading
from headstart.corpora.leaks import SKETCH_FILE
from headstart.corpora.leaks.normalisation import words
from headstart.corpora.leaks.sketch import Sketcher
from headstart.corpora.leaks.sketch_file import write_sketch
from headstart.corpora.places import Complaints
from headstart.corpora.sources import total_bytes
from headstart.corpora.tables import source_sha256
from headstart.errors import DataError
from headstart.files import cache_folder, json_digest
from headstart.locks import locked_in_turn
from headstart.pipeline.skipped_rows import read_skipped, write_skipped
from headstart.pipeline.watch import Watch
from headstart.tokenizers.tokenizer import Tokenizer

# Held out of a corpus that brings no valid text: enough to tell two trunks apart, and of a small
# corpus a larger share, or there would be nothing to see.
HELD_OUT_SHARE, HELD_OUT_SHARE_OF_SMALL = 0.02, 0.1
NUM_SMALL_BYTES = 1 << 20
# The part of a corpus that is read for its held-out documents alone.
HELD_OUT = "held out"


@dataclass(frozen=True, kw_only=True)
class CorpusConfig:
    """The files of a corpus and how they are read."""

    corpus: tuple[str, ...]
    valid: tuple[str, ...] = ()
    documents: DocumentKind = "lines"
    text_column: str | None = None
    skips_bad: bool = False

    def reading(self) -> Reading:
        """Returns a reading that has not begun."""
        return Reading(
            meter=Meter(),
            complaints=Complaints(skips_bad=self.skips_bad),
            documents=self.documents,
            text_column=self.text_column,
        )


@dataclass(frozen=True)
class CorpusStores:
    """The text of a run as tokens, and what it was made from."""

    train: TokenStore
    held_out: TokenStore
    sketch: Path
    """The file with the sketch of what is learned from."""
    sources: dict[str, str]
    """The SHA-256 of each file of text, by its path."""


def source_hashes(config: CorpusConfig) -> dict[str, str]:
    """Returns the SHA-256 of each file of a corpus as it is now."""
    return {path: source_sha256(Path(path)) for path in (*config.corpus, *config.valid)}


def corpus_stores(
    config: CorpusConfig,
    tokenizer: Tokenizer,
    num_threads: int,
    watch: Watch,
    hashes: dict[str, str] | None = None,
) -> CorpusStores:
    """Returns the stores of a corpus; what an earlier run has encoded is not encoded again."""
    hashes = source_hashes(config) if hashes is None else hashes
    share = 0.0 if config.valid else held_out_share(config.corpus)
    part = StorePart(config, tokenizer, num_threads, watch, hashes, share)
    train = part.make(config.corpus, "train", lambda text: not is_held_out(text, share))
    held_out = (
        part.make(config.valid, "valid", lambda _text: True)
        if config.valid
        else part.make(config.corpus, HELD_OUT, lambda text: is_held_out(text, share))
    )
    return CorpusStores(train, held_out, train.folder / SKETCH_FILE, hashes)


def whole_store(
    config: CorpusConfig, tokenizer: Tokenizer, num_threads: int, watch: Watch
) -> TokenStore:
    """Returns the store of all of a text, to be scored on."""
    hashes = source_hashes(config)
    part = StorePart(config, tokenizer, num_threads, watch, hashes, held_out_share=0.0)
    return part.make(config.corpus, "valid", lambda _text: True)


def held_out_share(paths: Sequence[str]) -> float:
    """Returns the share of a corpus that is held out."""
    num_bytes = total_bytes([Path(path) for path in paths])
    is_small = num_bytes is not None and num_bytes < NUM_SMALL_BYTES
    return HELD_OUT_SHARE_OF_SMALL if is_small else HELD_OUT_SHARE


def is_held_out(text: str, share: float) -> bool:
    """Whether a document is held out: decided by its text, so that copies stay together."""
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


@dataclass(frozen=True)
class StorePart:
    """Makes the stores of one corpus."""

    config: CorpusConfig
    tokenizer: Tokenizer
    num_threads: int
    watch: Watch
    hashes: dict[str, str]
    held_out_share: float

    def make(self, names: Sequence[str], part: str, takes: Callable[[str], bool]) -> TokenStore:
        """Returns the store of the documents that a part takes, from the cache if it is there."""
        manifest = Manifest(
            tokenizer=self.tokenizer.fingerprint,
            vocabulary_size=self.tokenizer.size,
            # By content, not by path: the same text read elsewhere is the same store.
            sources={
                f"{place}{kind_of(Path(name))}": self.hashes[name]
                for place, name in enumerate(names)
            },
            reading={
                "documents": self.config.documents,
                "text_column": self.config.text_column,
                "skips_bad": str(self.config.skips_bad),
                "part": part,
                # All of a text is learned from where other text is held out; else not.
                "held_out_share": str(self.held_out_share),
            },
        )
        folder = cache_folder() / "stores" / json_digest(asdict(manifest))[:24]
        paths = [Path(name) for name in names]
        if not (folder / SKETCH_FILE).exists():
            with locked_in_turn(folder, self.watch.say):
                # Whoever was waited for has made what is wanted here.
                if not (folder / SKETCH_FILE).exists():
                    self.write(paths, folder, manifest, takes)
        if part != HELD_OUT:
            # Of text that is held out the same was said when the rest of it was read.
            for line in read_skipped(folder, paths).summary():
                self.watch.say(line)
        store = TokenStore(folder)
        if store.num_tokens == 0:
            raise DataError(
                f"Nothing of the text was left for {part}. Give more documents, or name "
                "held-out text with --valid."
            )
        return store

    def write(
        self, paths: Sequence[Path], folder: Path, manifest: Manifest, takes: Callable[[str], bool]
    ) -> None:
        """Encodes the documents that a part takes, and sketches them, in a folder that we hold."""
        reading, sketcher = self.config.reading(), Sketcher()
        part = manifest.reading["part"]

        def documents() -> Iterator[Document]:
            for document in self.watch.read(paths, reading, f"Encoding text ({part})"):
                plain = document.plain
                if takes(plain):
                    sketcher.see(words(plain))
                    yield document

        taken = documents()
        fill_store(taken, self.tokenizer, folder, manifest, self.num_threads)
        # A store that was whole, but not sketched when a kill came, is read for its sketch alone.
        for _ in taken:
            pass
        write_skipped(folder, reading.complaints, paths)
        # Last, since it is taken as the sign that the store is whole and sketched.
        write_sketch(folder / SKETCH_FILE, sketcher.sketch())
