"""How much of a text a pretraining corpus had, estimated from the corpus' sketch alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from headstart.corpora.leaks.arrays import found_at
from headstart.corpora.leaks.hashing import WordHashes, ngrams
from headstart.corpora.leaks.prepared import batches
from headstart.corpora.leaks.sketch import NUM_SKETCH_WORDS, Sketch

# With fewer, one chance hit moves the estimate by a tenth or more.
NUM_ENOUGH_SAMPLED = 10


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a sketch can say of one text, or of several together."""

    num_ngrams: int
    """Distinct word 8-grams; a text of fewer than eight words has none."""
    num_sampled: int
    """Those of them that the sketch would have kept."""
    num_found: int
    """Those of the sampled ones that it has."""

    @property
    def share(self) -> float | None:
        """The estimated share of the 8-grams that the corpus has; nothing without a sample."""
        return self.num_found / self.num_sampled if self.num_sampled else None

    @property
    def has_few_samples(self) -> bool:
        """Whether too few 8-grams were sampled, and not all, for the share to be trusted."""
        return self.num_sampled < min(NUM_ENOUGH_SAMPLED, max(self.num_ngrams, 1))


def overlaps(sketch: Sketch, texts: Iterable[Sequence[str]]) -> list[Overlap]:
    """Estimates for each text, given as its normalised words, how much of it the corpus had.

    The hash decides what is sampled, whether the corpus has it or not, so the sampled 8-grams are
    a fair sample of the text's and the share is unbiased. (The limit depends a little on the
    corpus' own hashes; that is one part in the number of hashes kept.)
    """
    word_hashes = WordHashes()
    found: list[Overlap] = []
    for batch in batches((None, list(text)) for text in texts):
        rows = ngrams(word_hashes.rows([text for _, text in batch]), NUM_SKETCH_WORDS).distinct()
        sampled = rows.where(rows.values <= np.uint64(sketch.limit))
        hits = sampled.where(found_at(sampled.values, sketch.hashes) >= 0)
        sizes = zip(rows.sizes.tolist(), sampled.sizes.tolist(), hits.sizes.tolist(), strict=True)
        found += [Overlap(*counts) for counts in sizes]
    return found


def together(parts: Iterable[Overlap]) -> Overlap:
    """Returns the overlap of several texts as one, which can be judged where each cannot."""
    parts = tuple(parts)
    return Overlap(
        sum(part.num_ngrams for part in parts),
        sum(part.num_sampled for part in parts),
        sum(part.num_found for part in parts),
    )
