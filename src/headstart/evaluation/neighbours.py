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
    units = of_length_one(vectors)
    cosines = units @ units.T
    np.fill_diagonal(cosines, -np.inf)
    return [nearest(row, min(count, len(vectors) - 1)) for row in cosines]


def nearest_to(vector: Vectors, vectors: Vectors, count: int) -> list[Neighbour]:
    """Returns the `count` vectors most like one that is not among them, the most alike first."""
    return nearest(of_length_one(vectors) @ of_length_one(vector), count)


def nearest(cosines: Vectors, count: int) -> list[Neighbour]:
    """Returns the places of the `count` largest cosines; of equal ones, the first."""
    places = np.argsort(-cosines, kind="stable")[:count].tolist()
    return [Neighbour(place, float(cosines[place])) for place in places]


def of_length_one(vectors: Vectors) -> Vectors:
    """Returns vectors of the same direction and of length one; a zero stays as it is."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    units: Vectors = vectors / np.maximum(lengths, np.finfo(vectors.dtype).tiny)
    return units
