"""How many epochs a system needs for the best that a cold start ever reaches on validation."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from headstart.errors import DataError

# The validation accuracy of one seed after each epoch.
Curve = Sequence[float]


@dataclass(frozen=True, kw_only=True)
class EpochsToReach:
    """When each of two systems is as good as the cold start's best, seed by seed."""

    cold_best: float
    """The mean over seeds of the cold start's best."""
    cold_epoch: float
    """The mean epoch in which it had that first."""
    epochs: float | None
    """The mean over the seeds that reach it; None where none does."""
    num_seeds_reaching: int
    num_seeds: int


def epochs_to_reach(curves: Sequence[Curve], cold_curves: Sequence[Curve]) -> EpochsToReach:
    """Returns when each seed's curve first is as good as the best of the same seed's cold curve."""
    if not cold_curves or len(curves) != len(cold_curves) or not all((*curves, *cold_curves)):
        raise DataError(
            f"There are {len(curves)} curves for {len(cold_curves)} cold ones; as many of each, "
            "with at least one epoch, are needed."
        )
    bests = [max(curve) for curve in cold_curves]
    reached = [first_at_least(curve, best) for curve, best in zip(curves, bests, strict=True)]
    epochs = [epoch for epoch in reached if epoch is not None]
    return EpochsToReach(
        cold_best=mean(bests),
        cold_epoch=mean(
            list(curve).index(best) + 1 for curve, best in zip(cold_curves, bests, strict=True)
        ),
        epochs=mean(epochs) if epochs else None,
        num_seeds_reaching=len(epochs),
        num_seeds=len(curves),
    )


def first_at_least(curve: Curve, accuracy: float) -> int | None:
    """Returns the first epoch, counted from 1, that is so good."""
    return next((epoch for epoch, value in enumerate(curve, start=1) if value >= accuracy), None)
