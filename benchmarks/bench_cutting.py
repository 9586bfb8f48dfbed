"""How fast is text cut into a token store, beside bare sentencepiece on the same text and threads?

Both are given the same documents, in memory, and the same model. Bare sentencepiece is one call of
`encode` with the whole list, and ends with a Python list of ids for each document, since that is
what its interface gives. Headstart's time is all from the documents to a store on the disk: finding
sentences, cutting, arrays of ids, counts, hashes and durable writes. Nothing is taken off it.

The text is French from `../shared/data` where that is present, else words drawn by Zipf's law, of
which most are so frequent that they are hardly cut. Usage: bench_cutting.py [FILE]
"""

import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch
from record import alternate, keep, timed

from headstart.batches.packing import PackedBatches
from headstart.batches.store import TokenStore
from headstart.corpora.documents import Document, Reading, read_documents
from headstart.corpora.places import Place
from headstart.pipeline.token_store import make_store
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer

FRENCH = Path(__file__).parents[2] / "shared" / "data" / "french-reviews.txt.xz"
NUM_BYTES = 30_000_000
NUM_LINES_LEARNED = 5_000
NUM_PIECES = 8_000
NUM_DOCUMENTS, WORDS_PER_DOCUMENT = 40_000, 80
LETTERS = np.array(list("eaisnrtoludcmpévqfbghjàxêyèzkçùwôûâîëï"))
OURS, BARE = "headstart, to a store on disk", "bare sentencepiece, to lists of ids"


def made_up_documents() -> Iterator[Document]:
    """Yields documents of sentences of made-up words."""
    generator = np.random.default_rng(0)
    words = ["".join(generator.choice(LETTERS, generator.integers(1, 12))) for _ in range(30_000)]
    ranks = np.minimum(generator.zipf(1.3, (NUM_DOCUMENTS, WORDS_PER_DOCUMENT)), len(words)) - 1
    for line, row in enumerate(ranks, start=1):
        chosen = [words[rank] for rank in row]
        for end in range(11, len(chosen), 12):
            chosen[end] += "."
            if end + 1 < len(chosen):
                chosen[end + 1] = chosen[end + 1].capitalize()
        yield Document(" ".join(chosen), Place(Path("made-up"), line))


def first_of(documents: Iterable[Document]) -> list[Document]:
    """Returns the first documents, as many as make up the text of the question."""
    kept: list[Document] = []
    num_bytes = 0
    for document in documents:
        num_bytes += len(document.plain.encode())
        if num_bytes > NUM_BYTES:
            break
        kept.append(document)
    return kept


def chosen_text(names: list[str]) -> tuple[list[Path], list[Document], str]:
    """Returns the file, its documents and what they are: the file named, French, or made up."""
    path = Path(names[0]) if names else FRENCH
    if not names and not path.exists():
        return [], first_of(made_up_documents()), "made up, words drawn by Zipf's law"
    return [path], first_of(read_documents([path], Reading.plain())), path.name


def main() -> None:
    paths, documents, source = chosen_text(sys.argv[1:])
    texts = [document.plain for document in documents]
    num_bytes = sum(len(text.encode()) for text in texts)
    tokenizer = learn_tokenizer(texts[:NUM_LINES_LEARNED], TokenizerConfig(size=NUM_PIECES))
    num_threads = torch.get_num_threads()
    folder = Path(tempfile.mkdtemp())

    def store() -> TokenStore:
        return make_store(paths, documents, Reading.plain(), tokenizer, folder, num_threads)

    def ours() -> float:
        shutil.rmtree(folder)
        return timed(store)

    def bare() -> float:
        return timed(lambda: tokenizer.processor.encode(texts, num_threads=num_threads))

    seconds = alternate({OURS: ours, BARE: bare})
    made = store()
    step_seconds = timed(lambda: PackedBatches(made, 256, 16, seed=0).at(10_000_000))
    rounds = [
        one / other
        for one, other in zip(seconds[BARE]["seconds"], seconds[OURS]["seconds"], strict=True)
    ]
    keep(
        "cutting",
        {
            "work": f"{num_bytes / 1e6:.1f} MB of text ({source}), {len(texts):,} documents, "
            f"{NUM_PIECES:,} pieces, {num_threads} threads",
            "text": source,
            "bytes": num_bytes,
            "tokens": made.num_tokens,
            "seconds": seconds,
            "ratio": seconds[BARE]["median_seconds"] / seconds[OURS]["median_seconds"],
            "ratio_of_rounds": [min(rounds), max(rounds)],
            "seconds_to_step_ten_million": step_seconds,
        },
    )
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
