"""How many times the labels a system is worth: where another's learning curve reaches it.

Legend: S seeds, N items, K sizes.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.isotonic import IsotonicRegression

from headstart.errors import DataError
from headstart.evaluation.crossed import Floats, Table, crossed_mean

# Places between two sizes at which the curve is asked: 3 % apart where one is four times the other.
NUM_STEPS = 48


@dataclass(frozen=True, kw_only=True)
class LabelWorth:
    """So many times the labels of `at_size` does the other system need for the same accuracy."""

    at_size: int
    factor: float
    low: float | None
    """None where the interval goes on below the smallest size of the curve."""
    high: float | None
    """None where it goes on above the largest size of the curve."""
    is_at_least: bool = False
    """Whether the curve ends, at `factor`, below the accuracy that it should reach."""
    is_at_most: bool = False
    """Whether the curve begins, at `factor`, above that accuracy."""

    @property
    def is_known(self) -> bool:
        """Whether the curve tells an end of the interval; a flat one tells nothing."""
        return self.low is not None or self.high is not None


class CurvePoint(NamedTuple):
    """A size on or between those of a curve, and the results to be expected with it."""

    size: float
    result_SN: Floats


def label_worth(result_SN: Table, at_size: int, curve: Mapping[int, Table]) -> LabelWorth:
    """Returns the worth of results with `at_size` labels by the results of another at each size."""
    sizes = sorted(curve)
    if not sizes or min(sizes[0], at_size) < 1:
        raise DataError(
            f"The sizes of the curve are {sizes or 'none'} and that of the system is {at_size}; "
            "at least one size, and numbers from 1 up, are needed."
        )
    own_SN, *tables = (
        np.asarray(table, dtype=np.float64)
        for table in (result_SN, *(curve[size] for size in sizes))
    )
    if len(shapes := {own_SN.shape, *(table.shape for table in tables)}) > 1:
        raise DataError(
            f"The tables of a system and a curve have the shapes {sorted(shapes)}; the same seeds "
            "and test items are needed in all of them."
        )
    rising_KSN = rising(tables)
    accuracy, means = float(own_SN.mean()), rising_KSN.mean(axis=(1, 2)).tolist()
    low, high = sizes_in_doubt(own_SN, sizes, rising_KSN)
    return LabelWorth(
        at_size=at_size,
        factor=size_reaching(accuracy, sizes, means) / at_size,
        low=None if low is None else low / at_size,
        high=None if high is None else high / at_size,
        is_at_least=accuracy > means[-1],
        is_at_most=accuracy < means[0],
    )


def rising(tables: Sequence[Floats]) -> Floats:
    """Returns the tables, neighbours averaged where more labels gave less. Shape (K, S, N)."""
    table_KSN = np.stack(tables)
    fitted_K = IsotonicRegression().fit_transform(range(len(tables)), table_KSN.mean(axis=(1, 2)))
    block_K = np.concatenate([[0], np.cumsum(np.diff(fitted_K) > 1e-12)])
    return np.stack([table_KSN[block_K == block].mean(axis=0) for block in block_K])


def size_reaching(accuracy: float, sizes: Sequence[int], means: Sequence[float]) -> float:
    """Returns the least size with which a rising curve is so good, never beyond its ends."""
    above = next((place for place, mean in enumerate(means) if mean >= accuracy), len(sizes) - 1)
    if above == 0 or accuracy > means[-1]:
        return float(sizes[above])
    share = (accuracy - means[above - 1]) / (means[above] - means[above - 1])
    return sizes[above - 1] * math.pow(sizes[above] / sizes[above - 1], share)


def sizes_in_doubt(
    own_SN: Floats, sizes: Sequence[int], rising_KSN: Floats
) -> tuple[float | None, float | None]:
    """Returns the ends of the sizes at which the paired difference may be 0, with 95 % confidence.

    None stands for an end that lies beyond the curve's own.
    """
    asked = [
        (point.size, crossed_mean(own_SN - point.result_SN))
        for point in along_curve(sizes, rising_KSN)
    ]
    not_above = [place for place, (_, found) in enumerate(asked) if found.low <= 0]
    not_below = [place for place, (_, found) in enumerate(asked) if found.high >= 0]
    # A system that is better everywhere is worth at least the whole curve; and the other way round.
    first = not_above[0] if not_above else len(asked)
    last = not_below[-1] if not_below else -1
    return (
        asked[first - 1][0] if first > 0 else None,
        asked[last + 1][0] if last + 1 < len(asked) else None,
    )


def along_curve(sizes: Sequence[int], rising_KSN: Floats) -> Iterator[CurvePoint]:
    """Yields points along a curve that is straight over the logarithm of the size."""
    for place in range(len(sizes) - 1):
        ratio = sizes[place + 1] / sizes[place]
        for share in np.arange(NUM_STEPS) / NUM_STEPS:
            mixed_SN = (1 - share) * rising_KSN[place] + share * rising_KSN[place + 1]
            yield CurvePoint(sizes[place] * ratio**share, mixed_SN)
    yield CurvePoint(float(sizes[-1]), rising_KSN[-1])
