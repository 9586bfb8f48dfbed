"""The jobs of a comparison: systems, numbers of labels and seeds; free of torch.

A job's name holds a hash of all that decides its outcome. What is finished can so be skipped by its
name alone, and what would come out differently has another name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from headstart.errors import RecipeError
from headstart.files import json_digest

Kind = Literal["warm", "cold", "frozen", "gradual", "taught", "tfidf", "majority"]
NEURAL_KINDS: tuple[Kind, ...] = ("warm", "cold", "frozen", "gradual", "taught")
BASELINE_KINDS: tuple[Kind, ...] = ("tfidf", "majority")
# What is compared where nobody says otherwise.
USUAL_KINDS: tuple[Kind, ...] = ("warm", "cold", "frozen", "tfidf", "majority")
# The smallest number of labels that is tried where none is named; then twice as many, and so on.
FIRST_SIZE = 100
# The most that a rate to try may be as a multiple of a system's own.
MOST_TIMES_ITS_RATE = 1_000
# Beyond the sizes of the networks, TF-IDF only shows where its curve goes.
NUM_SEEDS_BEYOND = 3
# Enough of a hash to tell jobs apart, and of a trunk's name to know it.
NUM_HASH_LETTERS, NUM_NAME_LETTERS = 10, 40
# The longest first, so that no worker is left alone with them at the end. TF-IDF takes little
# beside networks on a processor, but longest of all beside networks on a GPU.
COSTS: Mapping[Kind, int] = {
    "tfidf": 4,
    "taught": 3,
    "warm": 2,
    "cold": 2,
    "gradual": 2,
    "frozen": 1,
    "majority": 0,
}


@dataclass(frozen=True, kw_only=True)
class TrunkFacts:
    """A trunk that is compared, as far as systems depend on it."""

    name: str
    shape: str
    """What a cold start takes from it: recipe and tokenizer, as a hash."""


@dataclass(frozen=True, kw_only=True)
class System:
    """One way to make a classifier."""

    key: str
    kind: Kind
    trunk: str | None
    """The trunk that it is named after, where there are several to tell apart."""
    like: str | None
    """The trunk whose weights, or whose shape alone, it begins with."""

    @property
    def name(self) -> str:
        """How tables call it."""
        return self.kind if self.trunk is None or ":" not in self.key else self.key

    @property
    def is_neural(self) -> bool:
        """Whether it is a network, and so a run."""
        return self.kind in NEURAL_KINDS


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """The numbers of labels and the seeds of a comparison."""

    sizes: tuple[int, ...]
    num_seeds: int
    num_train: int
    """All training examples: the most that can be drawn."""
    most_beyond: int
    """So many of them have room in memory twice, once counted by words and characters."""

    @property
    def sizes_beyond(self) -> tuple[int, ...]:
        """Doublings of the largest size up to all examples, for the curve of TF-IDF."""
        return doublings(self.sizes[-1], min(self.num_train, self.most_beyond))[1:]


@dataclass(frozen=True, kw_only=True)
class Job:
    """One system at one size with one seed."""

    system: System
    size: int
    seed: int
    draw: int
    """The seed of the training examples; one for all seeds where nothing else is drawn."""
    name: str

    @property
    def cost(self) -> tuple[int, int]:
        """What orders jobs by the time that they will take."""
        return self.size, COSTS[self.system.kind]


Decisive = Callable[[System, int], Mapping[str, object]]


def checked_kinds(kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    """Returns the kinds in their usual order; an error where one is unknown, or warm missing."""
    known = get_args(Kind)
    if odd := [kind for kind in kinds if kind not in known]:
        raise RecipeError(f"There is no system {odd[0]!r}. Choose from {', '.join(known)}.")
    if "warm" not in kinds:
        raise RecipeError(
            f"The systems are {', '.join(kinds) or 'none'}, but every comparison is about a warm "
            "start. Add warm to them."
        )
    return tuple(kind for kind in known if kind in kinds)


def systems_of(
    trunks: Sequence[TrunkFacts], kinds: Sequence[Kind] = USUAL_KINDS
) -> tuple[System, ...]:
    """Returns the systems to compare: networks for each trunk, cold once a shape, baselines."""
    is_alone = len(trunks) == 1
    first_of: dict[str, str] = {}
    for trunk in trunks:
        first_of.setdefault(trunk.shape, trunk.name)
    neural: list[System] = []
    for kind in (kind for kind in NEURAL_KINDS if kind in kinds):
        names = list(first_of.values()) if kind == "cold" else [trunk.name for trunk in trunks]
        # One cold start stands for all trunks of its shape, and is named after none.
        has_name = len(names) > 1 if kind == "cold" else True
        neural += [
            System(
                key=kind if is_alone or not has_name else f"{kind}:{name}",
                kind=kind,
                trunk=name if has_name else None,
                like=name,
            )
            for name in names
        ]
    lines = [
        System(key=kind, kind=kind, trunk=None, like=None)
        for kind in BASELINE_KINDS
        if kind in kinds
    ]
    return (*neural, *lines)


def cold_of(
    system: System, systems: Sequence[System], trunks: Sequence[TrunkFacts]
) -> System | None:
    """Returns the cold start that a system of a trunk is held against, where there is one."""
    shape_of = {trunk.name: trunk.shape for trunk in trunks}
    return next(
        (
            other
            for other in systems
            if other.kind == "cold" and shape_of[str(other.like)] == shape_of[str(system.like)]
        ),
        None,
    )


def rival_of(
    kind: Kind, system: System, systems: Sequence[System], trunks: Sequence[TrunkFacts]
) -> System | None:
    """Returns the system of a kind that one of a trunk is held against, where there is one."""
    if kind == "cold":
        return cold_of(system, systems, trunks)
    # A baseline is nobody's own.
    likes = (system.like, None)
    return next((one for one in systems if one.kind == kind and one.like in likes), None)


def doublings(first: int, last: int) -> tuple[int, ...]:
    """Returns a size, twice it and so on up to the last, which is always among them."""
    sizes = [first]
    while 2 * sizes[-1] < last:
        sizes.append(2 * sizes[-1])
    return tuple(sizes) if sizes[-1] >= last else (*sizes, last)


def checked_sizes(sizes: Sequence[int] | None, num_train: int) -> tuple[int, ...]:
    """Returns the sizes in order, or the usual ones; an error where there are too few examples."""
    if sizes is None:
        return doublings(min(FIRST_SIZE, num_train), num_train)
    if not sizes or min(sizes) < 2 or max(sizes) > num_train:
        raise RecipeError(
            f"The sizes are {', '.join(map(str, sizes)) or 'none'}, but there are {num_train:,} "
            f"training examples. Choose sizes from 2 to {num_train}."
        )
    return tuple(sorted(set(sizes)))


def jobs_of(systems: Sequence[System], sweep: Sweep, decisive: Decisive) -> list[Job]:
    """Returns every job, the longest first; of equal ones, those of the first seed."""
    jobs = [
        new_job(system, size, seed, sweep, decisive)
        for system in systems
        for size in sweep.sizes
        for seed in range(sweep.num_seeds)
    ]
    jobs += [
        new_job(system, size, seed, sweep, decisive)
        for system in systems
        if system.kind == "tfidf"
        for size in sweep.sizes_beyond
        for seed in range(min(sweep.num_seeds, NUM_SEEDS_BEYOND))
    ]
    return sorted(jobs, key=lambda job: (*(-part for part in job.cost), job.seed))


def new_job(system: System, size: int, seed: int, sweep: Sweep, decisive: Decisive) -> Job:
    """Returns a job with its name."""
    # All examples are the same in every draw, and a baseline draws nothing else.
    draws_nothing = not system.is_neural and size == sweep.num_train
    draw = 0 if draws_nothing else seed
    outcome = dict(decisive(system, size)) | {"size": size, "draw": draw}
    parts = (
        [system.kind]
        if system.kind == "cold" or system.like is None
        else [
            system.kind,
            system.like[:NUM_NAME_LETTERS],
        ]
    )
    digest = json_digest(outcome)[:NUM_HASH_LETTERS]
    return Job(
        system=system,
        size=size,
        seed=seed,
        draw=draw,
        name="-".join([*parts, str(size), str(draw), digest]),
    )
