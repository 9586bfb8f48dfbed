"""How sure a mean is when other seeds and other texts might have been drawn: 95 % intervals.

A table holds one value for each seed and test item: whether the answer was right, or by how much
one system was more often right than another. Seeds and items both count as random and are crossed:
each seed answers every item. Legend: S seeds, N items.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from headstart.errors import DataError

Table = NDArray[np.floating[Any] | np.integer[Any] | np.bool_]
Floats = NDArray[np.float64]

CONFIDENCE = 0.95
# Where no item of N differs, the "rule of three" still allows for 3 / N that do.
LEAST_DEVIATION = 1.5


@dataclass(frozen=True, kw_only=True)
class CrossedMean:
    """A mean over seeds and items, with its interval; from one seed that is over items alone."""

    mean: float
    low: float
    high: float
    p: float
    """Two-sided, against a true mean of 0."""
    num_seeds: int
    num_items: int
    degrees: float


class Spread(NamedTuple):
    """How far a mean would vary, and how many degrees of freedom stand behind that."""

    variance: float
    degrees: float


def crossed_mean(value_SN: Table) -> CrossedMean:
    """Returns the mean of a table whose values lie from -1 to 1, such as a paired difference."""
    table_SN = np.asarray(value_SN, dtype=np.float64)
    require_table(table_SN)
    return around(float(table_SN.mean()), crossed_spread(table_SN), table_SN.shape)


def crossed_share(is_right_SN: Table) -> CrossedMean:
    """Returns the share of right answers; its interval stays within 0 and 1."""
    found = crossed_mean(is_right_SN)
    return replace(found, low=max(0.0, found.low), high=min(1.0, found.high))


def around(mean: float, spread: Spread, shape: tuple[int, ...]) -> CrossedMean:
    """Returns a mean with the t interval that its spread gives."""
    num_seeds, num_items = shape
    deviation = np.sqrt(max(spread.variance, (LEAST_DEVIATION / num_items) ** 2))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, spread.degrees) * deviation)
    return CrossedMean(
        mean=mean,
        low=mean - half,
        high=mean + half,
        p=float(2 * stats.t.sf(abs(mean) / deviation, spread.degrees)),
        num_seeds=num_seeds,
        num_items=num_items,
        degrees=spread.degrees,
    )


def crossed_spread(value_SN: Floats) -> Spread:
    """Returns the variance of a table's mean from two-way components of variance."""
    num_seeds, num_items = value_SN.shape
    item_mean_N = value_SN.mean(axis=0)
    by_item = float(item_mean_N.var(ddof=1)) / num_items
    if num_seeds == 1:
        return Spread(by_item, num_items - 1)
    seed_mean_S = value_SN.mean(axis=1)
    by_seed = float(seed_mean_S.var(ddof=1)) / num_seeds
    rest_SN = value_SN - item_mean_N - seed_mean_S[:, None] + item_mean_N.mean()
    both = float((rest_SN**2).sum()) / ((num_seeds - 1) * (num_items - 1) * num_seeds * num_items)
    # What seeds and items do together is in the seeds' part already; an estimate below 0 is 0.
    return joined_spread(by_seed, max(0.0, by_item - both), value_SN.shape)


def joined_spread(by_seed: float, of_items: float, shape: tuple[int, ...]) -> Spread:
    """Returns the sum of two variances, their degrees averaged by the share that each has in it.

    The mean is harmonic. Satterthwaite's degrees square the shares; with few seeds that covers too
    seldom, since a variance of the seeds that came out small then counts as a sure one.
    """
    num_seeds, num_items = shape
    variance = by_seed + of_items
    if variance == 0:
        return Spread(0.0, num_items - 1)
    share = by_seed / variance
    return Spread(variance, 1 / (share / (num_seeds - 1) + (1 - share) / (num_items - 1)))


def require_table(value_SN: Floats) -> None:
    """Raises where a table has no two items or holds what is no share."""
    if value_SN.ndim != 2 or value_SN.shape[0] < 1 or value_SN.shape[1] < 2:
        raise DataError(
            f"A table of results has the shape {value_SN.shape}; at least one seed and two test "
            "items are needed."
        )
    if not (np.abs(value_SN) <= 1).all():
        raise DataError(
            f"A table of results goes from {value_SN.min()} to {value_SN.max()}; its values must "
            "be numbers from -1 to 1."
        )
