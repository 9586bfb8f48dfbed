"""What a comparison found, as its results.json says it; all shares are fractions."""

from collections.abc import Mapping
from dataclasses import dataclass, field

VERSION = 1
ANSWERS = ("helps", "no evidence", "hurts", "not asked")
NETWORKS = ("warm", "cold", "frozen", "gradual", "taught")
KINDS = (*NETWORKS, "tfidf", "majority")
Json = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class System:
    """One way to make a classifier."""

    key: str
    name: str
    kind: str
    trunk: str | None = None


@dataclass(frozen=True, kw_only=True)
class Score:
    """A system's mean over seeds at one number of labels, with its 95 % interval."""

    system: str
    size: int
    test: str
    metric: str
    mean: float
    low: float | None = None
    high: float | None = None
    num_seeds: int
    num_items: int


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One system minus another on the same seeds and items."""

    of: str
    to: str
    size: int
    test: str
    metric: str
    difference: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_corrected: float | None = None
    is_primary: bool = False
    num_seeds: int = 0


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The accuracy on validation after each epoch, and its band over seeds."""

    system: str
    size: int
    epochs: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Reaching:
    """How soon a system is as good on validation as the cold start ever becomes."""

    system: str
    size: int
    cold_best: float
    cold_epoch: float
    epochs: float | None = None
    num_seeds_reaching: int = 0


@dataclass(frozen=True, kw_only=True)
class LabelWorth:
    """How many times the labels another system needs to do as well."""

    system: str
    against: str
    at_size: int
    factor: float | None = None
    low: float | None = None
    high: float | None = None
    is_at_least: bool = False
    is_at_most: bool = False


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The answer, in a word and in sentences."""

    answer: str
    sentences: tuple[str, ...]
    better_line: str | None = None
    test: str = "clean"
    size: int


@dataclass(frozen=True, kw_only=True)
class Misreading:
    """A test item that a system gets wrong and is sure of."""

    index: int
    text: str
    label: str
    predicted: str
    probability: float
    system: str
    size: int
    num_seeds_wrong: int
    num_seeds: int


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All of it: what was asked, what was found, and what is needed to do it again."""

    systems: tuple[System, ...]
    scores: tuple[Score, ...]
    verdict: Verdict
    differences: tuple[Difference, ...] = ()
    curves: tuple[Curve, ...] = ()
    reaching: tuple[Reaching, ...] = ()
    label_worth: tuple[LabelWorth, ...] = ()
    errors: tuple[Misreading, ...] = ()
    # Parts that are shown as they are, whatever they hold.
    made: Json = field(default_factory=dict)
    question: Json = field(default_factory=dict)
    leaks: Json = field(default_factory=dict)
    ledger: Json = field(default_factory=dict)
    jobs: tuple[Json, ...] = ()

    def system(self, key: str) -> System:
        """Returns the system of a key."""
        return next(system for system in self.systems if system.key == key)

    def of_kind(self, kind: str) -> list[System]:
        """Returns the systems of one kind, the first trunk's first."""
        return [system for system in self.systems if system.kind == kind]

    def score(self, system: str, size: int, test: str, metric: str = "accuracy") -> Score | None:
        """Returns one score, or None where it was not measured."""
        wanted = (system, size, test, metric)
        return next((row for row in self.scores if place_of(row) == wanted), None)

    def differences_on(self, test: str) -> list[Difference]:
        """Returns the differences on a test: the primary first, then those with the most labels."""
        shown = [row for row in self.differences if row.test == test and row.metric == "accuracy"]
        return sorted(shown, key=lambda row: (not row.is_primary, -row.size))

    def cold_best(self, cold: str, size: int) -> float | None:
        """Returns the best of a cold start on validation, where something is held against it."""
        system = self.system(cold)
        if system.kind != "cold":
            return None
        for row in self.reaching:
            # Where there are several shapes, each has a cold start of its own.
            is_its_own = system.trunk in (None, self.system(row.system).trunk)
            if row.size == size and is_its_own:
                return row.cold_best
        return None

    @property
    def sizes(self) -> list[int]:
        """The numbers of labels that networks learned from, the smallest first."""
        networks = {system.key for system in self.systems if system.kind in NETWORKS}
        found = sorted({row.size for row in self.scores if row.system in networks})
        return found or self.all_sizes

    @property
    def all_sizes(self) -> list[int]:
        """The same with those beyond, from which only simpler lines learned."""
        return sorted({row.size for row in self.scores})


def place_of(score: Score) -> tuple[str, int, str, str]:
    """Returns what tells a score from all the others."""
    return score.system, score.size, score.test, score.metric
