"""How many epochs a system needs for the best that a cold start ever reaches on validation."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from headstart.errors import DataError

# The epochs of one seed, which may be parts of one, and the validation accuracy after each.
Curve = Sequence[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class EpochsToReach:
    """When a system is as good as the cold start's best, seed by seed."""

    cold_best: float
    """The mean over seeds of the cold start's best."""
    cold_epoch: float
    """The mean epoch in which it had that first."""
    epochs: float | None
    """The mean over the seeds that reach it; None unless most of them do."""
    num_seeds_reaching: int
    num_seeds: int


def epochs_to_reach(curves: Sequence[Curve], cold_curves: Sequence[Curve]) -> EpochsToReach:
    """Returns when each seed's curve first is as good as the best of the same seed's cold curve."""
    if not cold_curves or len(curves) != len(cold_curves) or not all((*curves, *cold_curves)):
        raise DataError(
            f"There are {len(curves)} curves for {len(cold_curves)} cold ones; as many of each, "
            "with at least one epoch, are needed."
        )
    bests = [max(accuracy for _, accuracy in curve) for curve in cold_curves]
    reached = [
        epoch
        for curve, best in zip(curves, bests, strict=True)
        if (epoch := first_at_least(curve, best)) is not None
    ]
    cold_epochs = [
        next(epoch for epoch, accuracy in curve if accuracy == best)
        for curve, best in zip(cold_curves, bests, strict=True)
    ]
    return EpochsToReach(
        cold_best=mean(bests),
        cold_epoch=mean(cold_epochs),
        # A mean over the few that made it would flatter the system.
        epochs=mean(reached) if 2 * len(reached) > len(curves) else None,
        num_seeds_reaching=len(reached),
        num_seeds=len(curves),
    )


def first_at_least(curve: Curve, wanted: float) -> float | None:
    """Returns the first epoch that is so good."""
    return next((epoch for epoch, accuracy in curve if accuracy >= wanted), None)
