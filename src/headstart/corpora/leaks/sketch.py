"""A corpus in at most a megabyte: a sample of the hashes of its word 8-grams.

The sample is of the smallest distinct hashes, so it depends neither on the order of the documents
nor on how often they repeat, and whoever has a text can tell which of its 8-grams would have been
sampled, had the corpus had them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headstart.corpora.leaks.arrays import Hashes
from headstart.corpora.leaks.hashing import WordHashes, ngrams
from headstart.corpora.leaks.prepared import NUM_BATCH_WORDS

NUM_SKETCH_WORDS = 8
# With its header, the file stays below 1,000,000 bytes.
NUM_KEPT_HASHES = 124_980
LARGEST_HASH = (1 << 64) - 1


@dataclass(frozen=True)
class Sketch:
    """The hashes up to a limit of all word 8-grams of a corpus, in order, each once."""

    num_ngrams_seen: int
    """How many 8-grams the corpus has, repeated ones too."""
    limit: int
    """Every hash of the corpus that is not above this is in the sketch."""
    hashes: Hashes

    @property
    def share_sampled(self) -> float:
        """The share of all possible 8-grams that the sketch would have kept; 1 if it has all."""
        return (self.limit + 1) / (LARGEST_HASH + 1)


def thinned(sketch: Sketch, num_kept: int) -> Sketch:
    """Returns the sketch that a Sketcher of so few hashes would have made of the same corpus."""
    if len(sketch.hashes) <= num_kept:
        return sketch
    limit = int(sketch.hashes[num_kept]) - 1
    return Sketch(sketch.num_ngrams_seen, limit, sketch.hashes[:num_kept])


def merged(first: Sketch, second: Sketch, num_kept: int = NUM_KEPT_HASHES) -> Sketch:
    """Returns the sketch of two corpora read one after the other."""
    # Above the lower limit, one of them has forgotten what it saw.
    limit = min(first.limit, second.limit)
    hashes = np.union1d(first.hashes, second.hashes)
    num_ngrams_seen = first.num_ngrams_seen + second.num_ngrams_seen
    return thinned(Sketch(num_ngrams_seen, limit, hashes[hashes <= np.uint64(limit)]), num_kept)


class Sketcher:
    """Makes a sketch from a stream of documents, in bounded memory."""

    def __init__(self, num_kept: int = NUM_KEPT_HASHES) -> None:
        self._num_kept = num_kept
        self._word_hashes = WordHashes()
        self._texts: list[Sequence[str]] = []
        self._num_waiting_words = 0
        self._num_ngrams_seen = 0
        self._limit = LARGEST_HASH
        self._kept: Hashes = np.zeros(0, dtype=np.uint64)
        self._new: list[Hashes] = []
        self._num_new = 0

    def see(self, words: Sequence[str]) -> None:
        """Takes one document, given as its normalised words."""
        if len(words) < NUM_SKETCH_WORDS:
            return
        self._texts.append(words)
        self._num_waiting_words += len(words)
        if self._num_waiting_words >= NUM_BATCH_WORDS:
            self._sample()

    def sketch(self) -> Sketch:
        """Returns the sketch of what was seen so far."""
        self._sample()
        self._merge()
        return Sketch(self._num_ngrams_seen, self._limit, self._kept)

    def _sample(self) -> None:
        """Hashes the documents that wait, and keeps the small hashes."""
        hashes = ngrams(self._word_hashes.rows(self._texts), NUM_SKETCH_WORDS).values
        self._texts, self._num_waiting_words = [], 0
        self._num_ngrams_seen += len(hashes)
        small = hashes[hashes <= np.uint64(self._limit)]
        self._new.append(small)
        self._num_new += len(small)
        if self._num_new > self._num_kept:
            self._merge()

    def _merge(self) -> None:
        """Adds the new hashes to the kept ones and lowers the limit until few enough are left."""
        kept = np.sort(np.concatenate([self._kept, *self._new]))
        # By hand: `np.unique` looks every number up in a table, at ten times the cost of sorting.
        kept = kept[np.diff(kept, prepend=kept[:1] - np.uint64(1)) != 0]
        self._new, self._num_new = [], 0
        if len(kept) > self._num_kept:
            self._limit = int(kept[self._num_kept]) - 1
            kept = kept[: self._num_kept]
        self._kept = kept
