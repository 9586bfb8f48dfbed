"""How long the jobs of a sweep take, learned from those that are done; free of torch."""

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

from headstart.transfers.sweep import BASELINE_KINDS, Job, Kind

# Kinds whose jobs take about as long as each other; of others nothing can be guessed.
ALIKE: tuple[tuple[Kind, ...], ...] = (
    ("warm", "cold", "gradual", "taught"),
    ("frozen",),
    BASELINE_KINDS,
)


@dataclass(frozen=True, kw_only=True)
class SweepProgress:
    """How far a sweep has come."""

    num_done: int
    num_jobs: int
    seconds_left: float | None
    """Nothing until a job of each sort is done."""
    last: str
    """The job that was done last."""


@dataclass
class Timings:
    """The seconds of finished jobs, by system and size."""

    seconds: dict[tuple[Kind, int], list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, job: Job, seconds: float) -> None:
        """Takes in a finished job."""
        self.seconds[job.system.kind, job.size].append(seconds)

    def expected(self, job: Job) -> float | None:
        """Returns what a job will take: as others like it, or in proportion to its labels.

        Nothing where none of its sort is done: a network takes a hundred times as long as TF-IDF.
        """
        kind, size = job.system.kind, job.size
        if known := self.seconds.get((kind, size)):
            return statistics.mean(known)
        rates = {
            other: statistics.mean(found) / other
            for (seen, other), found in self.seconds.items()
            if seen == kind
        }
        if not rates:
            (alike,) = (kinds for kinds in ALIKE if kind in kinds)
            rows = [found for (seen, _), found in self.seconds.items() if seen in alike]
            return statistics.mean(chain(*rows)) if rows else None
        nearest = min(rates, key=lambda other: abs(other - size))
        return rates[nearest] * size

    def left(self, jobs: Iterable[Job], num_workers: int) -> float | None:
        """Returns the seconds until jobs are done by so many workers; nothing if one is unknown."""
        expected = [self.expected(job) for job in jobs]
        known = [seconds for seconds in expected if seconds is not None]
        return sum(known) / num_workers if len(known) == len(expected) else None
