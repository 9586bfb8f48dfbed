"""The vectors most like a vector, by the cosine of the angle between them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Neighbour(NamedTuple):
    """Another vector, by its place, and how alike it is."""

    place: int
    cosine: float


def nearest_neighbours(vectors: Vectors, count: int) -> list[list[Neighbour]]:
    """Returns for each vector the `count` others most like it, the most alike first."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors / np.maximum(lengths, np.finfo(vectors.dtype).tiny)
    cosines = units @ units.T
    np.fill_diagonal(cosines, -np.inf)
    order = np.argsort(-cosines, axis=1, kind="stable")[:, : min(count, len(vectors) - 1)]
    return [
        [Neighbour(place, float(row[place])) for place in places]
        for row, places in zip(cosines, order.tolist(), strict=True)
    ]
