"""How fast is text cut into a token store, beside bare sentencepiece on the same text and threads?

The text is generated, so that the question can be asked anywhere: words drawn by Zipf's law from a
made-up vocabulary. Bare sentencepiece only cuts; Headstart also finds sentences, hashes and writes.
"""

import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from record import alternate, keep

from headstart.batches.packing import PackedBatches
from headstart.batches.store import TokenStore
from headstart.batches.store_format import Manifest
from headstart.batches.store_writing import write_store
from headstart.corpora.documents import Document
from headstart.corpora.places import Place
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer

NUM_DOCUMENTS, WORDS_PER_DOCUMENT = 40_000, 80
LETTERS = np.array(list("eaisnrtoludcmpévqfbghjàxêyèzkçùwôûâîëï"))


def made_up_texts() -> list[str]:
    """Returns documents of sentences of made-up words."""
    generator = np.random.default_rng(0)
    words = ["".join(generator.choice(LETTERS, generator.integers(1, 12))) for _ in range(30_000)]
    ranks = np.minimum(generator.zipf(1.3, (NUM_DOCUMENTS, WORDS_PER_DOCUMENT)), len(words)) - 1
    texts = []
    for row in ranks:
        chosen = [words[rank] for rank in row]
        for end in range(11, len(chosen), 12):
            chosen[end] += "."
            if end + 1 < len(chosen):
                chosen[end + 1] = chosen[end + 1].capitalize()
        texts.append(" ".join(chosen))
    return texts


def main() -> None:
    texts = made_up_texts()
    tokenizer = learn_tokenizer(texts[:5_000], TokenizerConfig(size=8_000))
    documents = [Document(text, Place(Path("made-up"), line)) for line, text in enumerate(texts)]
    manifest = Manifest(
        tokenizer=tokenizer.fingerprint,
        vocabulary_size=tokenizer.size,
        sources={},
        reading={},
    )
    num_threads = torch.get_num_threads()
    folder = Path(tempfile.mkdtemp())

    def bare() -> float:
        started_at = time.perf_counter()
        tokenizer.processor.encode(texts, num_threads=num_threads)
        return time.perf_counter() - started_at

    def ours() -> float:
        shutil.rmtree(folder)
        started_at = time.perf_counter()
        write_store(documents, tokenizer, folder, manifest, num_threads)
        return time.perf_counter() - started_at

    seconds = alternate({"headstart": ours, "bare sentencepiece": bare})
    store = TokenStore(folder)
    started_at = time.perf_counter()
    PackedBatches(store, 256, 16, seed=0).at(10_000_000)
    step_seconds = time.perf_counter() - started_at
    shutil.rmtree(folder)
    num_bytes = sum(len(text.encode()) for text in texts)
    medians = [row["median_seconds"] for row in seconds.values()]
    keep(
        "cutting",
        {
            "work": f"{num_bytes / 1e6:.0f} MB of made-up text, {num_threads} threads",
            "bytes": num_bytes,
            "tokens": store.num_tokens,
            "seconds": seconds,
            "ratio": medians[1] / medians[0],
            "seconds_to_step_ten_million": step_seconds,
        },
    )


if __name__ == "__main__":
    main()
