"""A fair part of any amount of text, small enough to learn a vocabulary from in memory."""

from array import array
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np

from headstart.randomness import derive_seed

# SentencePiece takes some 22 bytes of memory for each letter of its sample, up to 50 where no
# spaces part the words, and something for each line; more text would hardly change a vocabulary.
NUM_MOST_LINES, NUM_MOST_BYTES = 1_000_000, 16_000_000
# A sample may outgrow its limits by this factor before what is beyond them is let go.
SLACK = 1.25


def sample(
    lines: Iterable[str],
    seed: int,
    most: int = NUM_MOST_LINES,
    most_bytes: int = NUM_MOST_BYTES,
) -> list[str]:
    """Returns the lines that are not blank, or so many and so large a part of any number of them.

    Each line has a key, and those with the least keys stay, in their order: every line has an
    equal chance, wherever it stands, and what is held never grows with what is read. Copies of a
    line have its key and count once: SentencePiece takes hours over text that repeats itself.
    """
    kept = Sample(most, most_bytes)
    secret = derive_seed(seed, "tokenizer sample").to_bytes(8, "big")
    for line in lines:
        if line.strip() and (key := key_of(line, secret)) < kept.limit:
            kept.add(line, key)
    kept.shrink()
    return kept.lines


def key_of(line: str, secret: bytes) -> float:
    """Returns a number from 0 to 1 that is as good as drawn, but always the same for a line."""
    data = line.encode(errors="surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8, key=secret).digest(), "big") / 2**64


class Sample:
    """The lines with the least keys, as far as there is room for them."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self.most, self.most_bytes = most, most_bytes
        self.lines: list[str] = []
        self.limit = 1.0
        """The least key of those that were let go: no line of a greater one can stay."""
        self._keys = array("d")
        self._known: set[float] = set()
        self._sizes = array("l")
        self._num_bytes = 0

    def add(self, line: str, key: float) -> None:
        """Takes in a line, and now and then lets go of what there is no room for."""
        if key in self._known:
            return
        self._known.add(key)
        self.lines.append(line)
        self._keys.append(key)
        self._sizes.append(len(line.encode(errors="surrogatepass")))
        self._num_bytes += self._sizes[-1]
        is_long = len(self.lines) > SLACK * self.most + 1
        if is_long or self._num_bytes > SLACK * self.most_bytes:
            self.shrink()

    def shrink(self) -> None:
        """Lets go of the lines with the greatest keys until the others fit."""
        keys, sizes = np.array(self._keys), np.array(self._sizes)
        order = np.argsort(keys, kind="stable")
        has_room = np.cumsum(sizes[order]) <= self.most_bytes
        has_room[self.most :] = False
        if has_room.all():
            return
        # The first line may be larger than all the room; something must be learned from.
        num_kept = max(1, int(has_room.sum()))
        stays = np.sort(order[:num_kept])
        self.limit = float(keys[order[num_kept]]) if num_kept < len(order) else self.limit
        self.lines = [self.lines[place] for place in stays]
        self._keys, self._sizes = array("d", keys[stays]), array("l", sizes[stays])
        self._known = set(self._keys)
        self._num_bytes = int(sizes[stays].sum())
