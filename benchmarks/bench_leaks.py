"""Does the leak guard find planted near copies, how fast, and in how much memory?

Near copies: 10,000 documents of 30 to 200 words that share no eight words in a row, and 200 more in
which a tenth of the words of one of them was replaced, inside one split and across two. A corpus: a
million short lines against a test of 2,000, of which 200 were planted in it likewise. The text is
French from `../shared/data` where that is present, else words drawn by Zipf's law.
"""

import itertools
import lzma
import multiprocessing
import random
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from headstart.corpora.examples import Example
from headstart.corpora.leaks.normalisation import words
from headstart.corpora.leaks.report import check
from headstart.corpora.places import Place

DATA = Path(__file__).parents[2] / "shared" / "data"
FRENCH = [DATA / "french-reviews.txt.xz", DATA / "french-general.txt.xz"]
IS_FRENCH = all(path.exists() for path in FRENCH)
SEED = 0
NUM_DOCUMENTS, NUM_PLANTED, NUM_TEST, NUM_LINES = 10_000, 200, 2_000, 1_000_000
SHORTEST, LONGEST, LINE = 30, 200, 15
SHARE_CHANGED = 0.1
NUM_WORDS_APART = 8

Text = list[str]


def natural_words() -> Iterator[str]:
    """Yields the words of the French texts, one after the other: 18 million."""
    for path in FRENCH:
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield from words(line)


def drawn_words(draw: random.Random) -> Iterator[str]:
    """Yields words by Zipf's law, without end."""
    vocabulary = [f"w{rank}" for rank in range(50_000)]
    weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(50_000)))
    while True:
        yield from draw.choices(vocabulary, cum_weights=weights, k=10_000)


def some_words(draw: random.Random) -> Iterator[str]:
    return natural_words() if IS_FRENCH else drawn_words(draw)


def documents_apart(source: Iterator[str], draw: random.Random) -> list[Text]:
    """Returns documents of which no two share eight words in a row."""
    seen: set[int] = set()
    documents: list[Text] = []
    while len(documents) < NUM_DOCUMENTS:
        text = list(itertools.islice(source, draw.randint(SHORTEST, LONGEST)))
        runs = {hash(tuple(text[at : at + NUM_WORDS_APART])) for at in range(len(text))}
        if not runs & seen:
            seen |= runs
            documents.append(text)
    return documents


def changed(text: Text, others: Text, draw: random.Random) -> Text:
    """Returns a text with a tenth of its words, anywhere in it, replaced by other words."""
    text = list(text)
    for position in draw.sample(range(len(text)), round(SHARE_CHANGED * len(text))):
        text[position] = draw.choice([word for word in others if word != text[position]])
    return text


def examples(texts: list[Text], name: str) -> list[Example]:
    return [
        Example(" ".join(text), "0", Place(Path(name), line))
        for line, text in enumerate(texts, start=1)
    ]


def near_copies(*, is_across: bool) -> dict[str, object]:
    draw = random.Random(SEED)
    documents = documents_apart(some_words(draw), draw)
    originals = draw.sample(range(NUM_DOCUMENTS), NUM_PLANTED)
    planted = [changed(documents[at], draw.choice(documents), draw) for at in originals]
    if is_across:
        splits = {"train": examples(documents, "train"), "test": examples(planted, "test")}
        truth = {(number, at) for number, at in enumerate(originals)}
    else:
        splits = {"train": examples(documents + planted, "train")}
        truth = {(NUM_DOCUMENTS + number, at) for number, at in enumerate(originals)}
    started_at = time.perf_counter()
    report = check(splits)
    seconds = time.perf_counter() - started_at
    pairs = report.near[1 if is_across else 0].pairs
    found = {(pair.item.index, pair.of.index) for pair in pairs}
    # Chance pairs among the documents themselves count against the precision as well.
    num_found = sum(len(near.pairs) for near in report.near)
    return {
        "seconds": seconds,
        "recall": len(found & truth) / len(truth),
        "precision": len(found & truth) / num_found,
        "least_similarity": min(pair.similarity for pair in pairs),
    }


def corpus() -> dict[str, object]:
    draw = random.Random(SEED)
    source = some_words(draw)
    texts = [list(itertools.islice(source, LINE)) for _ in range(NUM_TEST)]
    planted = draw.sample(range(NUM_TEST), NUM_PLANTED)
    lines_of = dict(zip(draw.sample(range(NUM_LINES), NUM_PLANTED), planted, strict=True))

    def lines() -> Iterator[tuple[Place, str]]:
        for line in range(NUM_LINES):
            text = list(itertools.islice(source, draw.randint(LINE // 2, LINE * 3 // 2)))
            assert text, "the text is too short for so many lines"
            if line in lines_of:
                at = lines_of[line]
                text = changed(texts[at], draw.choice(texts), draw)
            yield Place(Path("corpus"), line + 1), " ".join(text)

    started_at = time.perf_counter()
    report = check({"test": examples(texts, "test")}, lines())
    seconds = time.perf_counter() - started_at
    found = report.corpus_near[0].indices
    return {
        "seconds": seconds,
        "recall": len(found & set(planted)) / NUM_PLANTED,
        "precision": len(found & set(planted)) / len(found),
    }


def near_copies_inside() -> dict[str, object]:
    return near_copies(is_across=False)


def near_copies_across() -> dict[str, object]:
    return near_copies(is_across=True)


def measured(case: Callable[[], dict[str, object]]) -> dict[str, object]:
    """Runs a case and adds the most memory that its process had, text and all."""
    row = case()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return {**row, "peak_megabytes": peak / 1e6}


CASES = {
    "near copies inside a split of 10,200": near_copies_inside,
    "near copies of 10,000 in a test of 200": near_copies_across,
    "a million short lines against a test of 2,000": corpus,
}


def main() -> None:
    # Not above: the processes that are measured import this file, and need no torch.
    from record import keep

    rows = {}
    for name, case in CASES.items():
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            rows[name] = pool.apply(measured, (case,))
        print(name, rows[name])
    text = "French" if IS_FRENCH else "drawn by Zipf's law"
    keep("leaks", {"work": f"planted near copies, a tenth changed; text {text}", "cases": rows})


if __name__ == "__main__":
    main()
