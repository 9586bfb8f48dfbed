"""How much of a set of shingles stands close together in a long document."""

import numpy as np

from headstart.corpora.leaks.arrays import Hashes, Positions, rank_in_run, spans


class ShinglePositions:
    """Where each shingle of a document stands, sorted once and asked for many sets."""

    def __init__(self, document: Hashes) -> None:
        """Takes the shingles of a document in the order of its text."""
        self._order: Positions = np.argsort(document, kind="stable")
        self._sorted = document[self._order]

    def most_in_a_stretch(self, shingles: Hashes, length: int) -> int:
        """Returns the most shingles of a set that stand in any so many places in a row."""
        begins = np.searchsorted(self._sorted, shingles, side="left")
        num_places = np.searchsorted(self._sorted, shingles, side="right") - begins
        members = np.repeat(np.arange(len(shingles)), num_places)
        return most_distinct(self._order[spans(begins, num_places)], members, length)


def most_distinct(places: Positions, members: Positions, length: int) -> int:
    """Returns the most members with a place in one stretch; rows are by member, then by place.

    A stretch is named by its first place. Those that hold a member are the `length` ones up to each
    of its places; where two such runs of stretches meet they are one, so that it counts once.
    """
    if not len(places):
        return 0
    is_far = np.diff(places, prepend=0) > length
    begins_run = is_far | (rank_in_run(members) == 0)
    ends_run = np.append(begins_run[1:], True)
    begins = places[begins_run] - length + 1
    ends = places[ends_run] + 1
    changes = np.repeat([1, -1], [len(begins), len(ends)])
    # At the same place, what ends there goes before what begins.
    order = np.lexsort((changes, np.concatenate([begins, ends])))
    return int(np.cumsum(changes[order]).max())
