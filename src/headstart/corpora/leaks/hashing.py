"""Words and their sequences as numbers that are the same on every machine and in every year."""

import hashlib
from collections.abc import Sequence
from itertools import chain

import numpy as np

from headstart.corpora.leaks.arrays import Hashes
from headstart.corpora.leaks.rows import Rows, rows_of_sizes

# About 50 MB of words; a corpus has more, but its common words come back at once.
NUM_REMEMBERED_WORDS = 1 << 18
NUM_FINGERPRINT_BYTES = 16
# Steele and Vigna's multiplier for 64 bits, then the finaliser of splitmix64.
MULTIPLIER = np.uint64(0xD1342543DE82EF95)
FINAL_MULTIPLIERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
FINAL_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


def fingerprint(words: Sequence[str]) -> bytes:
    """Returns 128 bits that stand for a whole text, or no bytes for a text without words."""
    if not words:
        return b""
    return hashlib.blake2b(" ".join(words).encode(), digest_size=NUM_FINGERPRINT_BYTES).digest()


class WordHashes(dict[str, int]):
    """The 64-bit hashes of words, remembered up to a bound."""

    def __missing__(self, word: str) -> int:
        if len(self) >= NUM_REMEMBERED_WORDS:
            self.clear()
        digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
        found = self[word] = int.from_bytes(digest, "little")
        return found

    def rows(self, texts: Sequence[Sequence[str]]) -> Rows:
        """Returns the hashes of the words of texts, a row a text."""
        sizes = np.fromiter(map(len, texts), np.int64, count=len(texts))
        hashes = map(self.__getitem__, chain.from_iterable(texts))
        return rows_of_sizes(np.fromiter(hashes, np.uint64, count=int(sizes.sum())), sizes)


def ngrams(texts: Rows, num_words: int) -> Rows:
    """Returns the hashes of every `num_words` words in a row, in the order of each text."""
    num_starts = max(len(texts.values) - num_words + 1, 0)
    ends = np.repeat(texts.starts[1:], texts.sizes)
    fits = np.zeros(len(texts.values), dtype=np.bool_)
    # The last words of a text would reach into the next one.
    fits[:num_starts] = (np.arange(num_starts) + num_words) <= ends[:num_starts]
    hashes = np.zeros(len(texts.values), dtype=np.uint64)
    for offset in range(num_words):
        hashes[:num_starts] = (
            hashes[:num_starts] * MULTIPLIER + texts.values[offset : offset + num_starts]
        )
    return Rows(mixed(hashes), texts.starts).where(fits)


def mixed(hashes: Hashes) -> Hashes:
    """Spreads hashes over all 64 bits, so that the small ones are a fair sample of them."""
    hashes = (hashes ^ (hashes >> FINAL_SHIFTS[0])) * FINAL_MULTIPLIERS[0]
    hashes = (hashes ^ (hashes >> FINAL_SHIFTS[1])) * FINAL_MULTIPLIERS[1]
    return hashes ^ (hashes >> FINAL_SHIFTS[2])
