"""By how much one system is more often right than another, on the same texts with the same seeds.

Legend: S seeds, N items.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

import numpy as np

from headstart.errors import DataError
from headstart.evaluation.crossed import Table, crossed_mean
from headstart.evaluation.holm import holm

TestKind = Literal["full", "clean"]
Side = Literal["above", "below", "unclear"]
# How often any of the questions but the primary one may be answered falsely.
LARGEST_P = 0.05


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """Which two systems are compared, and on what."""

    of: str
    to: str
    size: int
    """With how many labels."""
    test: TestKind
    is_primary: bool = False
    """Whether this is the one question asked beforehand; the others count as several."""
    metric: str = "accuracy"


@dataclass(frozen=True, kw_only=True)
class Difference(Pairing):
    """The accuracy of one minus that of the other, as a fraction, with its 95 % interval."""

    difference: float
    low: float
    high: float
    p: float
    p_corrected: float
    """After Holm's correction over all questions but the primary one."""
    num_seeds: int
    num_items: int

    @property
    def side(self) -> Side:
        """On which side of 0 the interval lies: the answer to a question asked alone."""
        if self.low > 0:
            return "above"
        return "below" if self.high < 0 else "unclear"

    @property
    def side_among_several(self) -> Side:
        """The same where the correction lets it stand: the answer to one of several questions."""
        return self.side if self.p_corrected < LARGEST_P else "unclear"


def paired_difference(pairing: Pairing, of_SN: Table, to_SN: Table) -> Difference:
    """Returns the difference of two tables of right answers, not yet corrected."""
    if np.shape(of_SN) != np.shape(to_SN):
        raise DataError(
            f"{pairing.of} has results of the shape {np.shape(of_SN)} and {pairing.to} of "
            f"{np.shape(to_SN)} with {pairing.size:,} labels; the same seeds and test items are "
            "needed to compare them."
        )
    found = crossed_mean(np.asarray(of_SN, dtype=np.float64) - np.asarray(to_SN, dtype=np.float64))
    return Difference(
        **asdict(pairing),
        difference=found.mean,
        low=found.low,
        high=found.high,
        p=found.p,
        p_corrected=found.p,
        num_seeds=found.num_seeds,
        num_items=found.num_items,
    )


def corrected(differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """Returns the differences with the p of all but the primary one corrected together."""
    others = [place for place, one in enumerate(differences) if not one.is_primary]
    found = dict(zip(others, holm([differences[place].p for place in others]), strict=True))
    return tuple(
        replace(one, p_corrected=found.get(place, one.p)) for place, one in enumerate(differences)
    )
