"""How do the time and the memory of preparing a corpus grow with its size?

The same code as behind `headstart pretrain`: hash the file, cut it into pieces, write the token
stores of what is learned from and of what is held out, and sketch it. The text is made up, words
drawn by Zipf's law into documents of some sentences, and streamed to a file; each size has a
process of its own, which has read nothing before. Time should grow with an exponent of 1, memory
not at all. Beside it, `--keep-out`: each file held against a test of 2,000 texts.

    python benchmarks/bench_preparing.py [--sizes 1 4 16 64 256 1024] [--tiny]
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from record import keep

from headstart.corpora.generated import GeneratedConfig, Language
from headstart.models.accounting.layer_timing import fit_exponent
from headstart.pipeline.adaptation import require_kept_out
from headstart.pipeline.corpus_stores import CorpusConfig, corpus_stores, source_hashes
from headstart.pipeline.watch import Watch
from headstart.tokenizers.folder import load_tokenizer, save_tokenizer
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer
from headstart.training.rehearsal import forget_peak, memory_counts

MEGABYTE = 1_000_000
SIZES, TINY_SIZES = (1, 4, 16, 64, 256, 1_024), (0.05, 0.1, 0.2)
NUM_PIECES, NUM_TINY_PIECES = 8_000, 500
NUM_DOCUMENTS_LEARNED = 5_000
NUM_KEPT_OUT = 2_000
# As many words as the French reviews have, of which few make up most of a text.
WORDS = GeneratedConfig(num_words=20_000, num_neutral_words=20_000)
ZIPF = 1.3
NUM_DOCUMENTS_AT_ONCE, WORDS_PER_SENTENCE, SENTENCES_PER_DOCUMENT = 1_000, 12, 7


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What preparing a file took."""

    num_bytes: int
    num_tokens: int
    seconds: float
    cpu_seconds: float
    """What all of its threads worked, which others on the machine disturb less."""
    peak_bytes: int
    """The most that the process held, with all that it had imported."""
    imported_bytes: int
    """What it held before it began."""
    added_bytes: int
    """What it came to hold at most beyond that."""
    keep_out_seconds: float

    @property
    def megabytes_per_second(self) -> float:
        """How fast it went."""
        return self.num_bytes / MEGABYTE / self.seconds


def main() -> None:
    given = arguments()
    sizes = TINY_SIZES if given.tiny else given.sizes
    num_pieces = NUM_TINY_PIECES if given.tiny else NUM_PIECES
    with tempfile.TemporaryDirectory() as folder:
        points = list(measure(sizes, num_pieces, Path(folder)))
    answer = grown(points)
    print(answer["exponents"])
    if not given.tiny:
        threads = torch.get_num_threads()
        work = f"made-up text, {num_pieces:,} pieces, {threads} threads, each size once"
        keep("preparing", {"work": work, **answer})


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=float, nargs="+", default=SIZES, help="in MB")
    parser.add_argument("--tiny", action="store_true", help="little text, without a record")
    return parser.parse_args()


def made_up_documents(seed: int) -> Iterator[str]:
    """Yields documents of made-up words without end."""
    language = Language(WORDS)
    generator = np.random.default_rng(seed)
    words = np.array([*language.neutral, *language.felt[0], *language.felt[1]], dtype=object)
    first = np.array([word.capitalize() for word in words], dtype=object)
    last = np.array([f"{word}." for word in words], dtype=object)
    shape = (NUM_DOCUMENTS_AT_ONCE * SENTENCES_PER_DOCUMENT, WORDS_PER_SENTENCE)
    while True:
        ranks = np.minimum(generator.zipf(ZIPF, shape), len(words)) - 1
        chosen = words[ranks]
        chosen[:, 0], chosen[:, -1] = first[ranks[:, 0]], last[ranks[:, -1]]
        # A letter outside of ASCII in every document, as most languages have it.
        chosen[::SENTENCES_PER_DOCUMENT, 1] = "été"
        for document in chosen.reshape(NUM_DOCUMENTS_AT_ONCE, -1):
            yield " ".join(document)


def write_text(path: Path, num_bytes: float) -> None:
    """Streams about so many bytes of documents to a file, a line each."""
    with path.open("w", encoding="utf-8") as file:
        for document in made_up_documents(seed=1):
            if num_bytes <= 0:
                return
            num_bytes -= file.write(f"{document}\n")


def measure(sizes: Sequence[float], num_pieces: int, folder: Path) -> Iterator[Prepared]:
    """Prepares a text of each size in a process of its own."""
    learned = list(islice(made_up_documents(seed=0), NUM_DOCUMENTS_LEARNED))
    save_tokenizer(learn_tokenizer(learned, TokenizerConfig(size=num_pieces)), folder / "pieces")
    kept_out = folder / "kept-out.txt"
    kept_out.write_text("\n".join(islice(made_up_documents(seed=2), NUM_KEPT_OUT)))
    for size in sizes:
        text = folder / "text.txt"
        write_text(text, size * MEGABYTE)
        # Every size has a cache of its own, in which nothing is found.
        with (
            tempfile.TemporaryDirectory(dir=folder) as cache,
            ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as executor,
        ):
            job = executor.submit(prepare, text, folder / "pieces", kept_out, cache)
            prepared = job.result()
        text.unlink()
        speed = f"{prepared.megabytes_per_second:.1f} MB/s"
        print(f"{size:g} MB: {prepared.seconds:.1f} seconds, {speed}", file=sys.stderr)
        yield prepared


def prepare(text: Path, pieces: Path, kept_out: Path, cache: str) -> Prepared:
    """Prepares one file as `pretrain` would, in a process that has done nothing else."""
    os.environ["HEADSTART_CACHE"] = cache
    tokenizer, config = load_tokenizer(pieces), CorpusConfig(corpus=(str(text),))
    forget_peak("cpu")
    before = memory_counts("cpu")
    started_at = time.perf_counter()
    require_kept_out(config, [str(kept_out)], source_hashes(config), Watch())
    kept_out_at, worked_at = time.perf_counter(), time.process_time()
    stores = corpus_stores(config, tokenizer, torch.get_num_threads(), Watch())
    ended_at, worked = time.perf_counter(), time.process_time() - worked_at
    after = memory_counts("cpu")
    assert before is not None, "this system does not count memory"
    assert after is not None
    return Prepared(
        num_bytes=text.stat().st_size,
        num_tokens=stores.train.num_tokens + stores.held_out.num_tokens,
        seconds=ended_at - kept_out_at,
        cpu_seconds=worked,
        peak_bytes=after.peak,
        imported_bytes=before.now,
        added_bytes=after.peak - before.now,
        keep_out_seconds=kept_out_at - started_at,
    )


def grown(points: Sequence[Prepared]) -> dict[str, object]:
    """Returns the points with the exponents of their growth."""
    sizes = [point.num_bytes for point in points]
    names = ("seconds", "cpu_seconds", "keep_out_seconds", "peak_bytes", "added_bytes")
    return {
        "points": [asdict(point) for point in points],
        "exponents": {
            name: fit_exponent(sizes, [getattr(point, name) for point in points]) for name in names
        },
    }


if __name__ == "__main__":
    main()
