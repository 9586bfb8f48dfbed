"""How long the jobs of a sweep take, learned from those that are done; free of torch."""

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from headstart.transfers.sweep import Job, Kind


@dataclass(frozen=True, kw_only=True)
class SweepProgress:
    """How far a sweep has come."""

    num_done: int
    num_jobs: int
    seconds_left: float | None
    """Nothing until a job is done."""
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
        """Returns what a job will take: as others like it, or in proportion to its labels."""
        kind, size = job.system.kind, job.size
        if known := self.seconds.get((kind, size)):
            return statistics.mean(known)
        rates = {
            other: statistics.mean(found) / other
            for (seen, other), found in self.seconds.items()
            if seen == kind
        }
        if not rates:
            every = [second for found in self.seconds.values() for second in found]
            return statistics.mean(every) if every else None
        nearest = min(rates, key=lambda other: abs(other - size))
        return rates[nearest] * size

    def left(self, jobs: Iterable[Job], num_workers: int) -> float | None:
        """Returns the seconds until jobs are done by so many workers; nothing if none is known."""
        expected = [self.expected(job) for job in jobs]
        if not expected:
            return 0.0
        known = [seconds for seconds in expected if seconds is not None]
        return sum(known) / num_workers if known else None
