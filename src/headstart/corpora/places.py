"""Where in the input something stands, and what is to be done about what is wrong there."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from headstart.errors import DataError

NUM_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file; lines count from 1."""

    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path}, line {self.line:,}"


class Complaints:
    """What is wrong with the input: an error at once, or counted where bad rows may be skipped."""

    def __init__(self, *, skips_bad: bool, can_skip: bool = True) -> None:
        self.skips_bad = skips_bad
        # Where each line has an answer of its own, none is skipped, and nobody is told to.
        self.can_skip = can_skip
        self.counts: Counter[str] = Counter()
        self.first_places: dict[str, list[Place]] = {}

    def complain(self, place: Place, what: str, remedy: str, *, skips: bool = False) -> None:
        """Counts a bad row, or raises the sentence that tells the user of it.

        What hurts nobody when it is left out is counted in any case, where `skips` says so.
        """
        if not (self.skips_bad or skips):
            skipping = ", or skip such rows with --skip-bad" if self.can_skip else ""
            raise DataError(f"{place}: {what}. {remedy}{skipping}.")
        self.counts[what] += 1
        places = self.first_places.setdefault(what, [])
        if len(places) < NUM_EXAMPLES:
            places.append(place)

    def summary(self) -> list[str]:
        """Returns a line for each kind of bad row that was skipped."""
        return [
            f"Skipped {count:,} {'row' if count == 1 else 'rows'}: {what} "
            f"(first: {'; '.join(map(str, self.first_places[what]))})"
            for what, count in self.counts.most_common()
        ]
