"""The pairs of a translator: read, held out and freed of copies the same way each time."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from headstart.corpora.compression import Meter
from headstart.corpora.documents import Reading
from headstart.corpora.leaks.hashing import fingerprint
from headstart.corpora.leaks.normalisation import words
from headstart.corpora.pairs import Pair, read_pairs
from headstart.corpora.places import Complaints
from headstart.corpora.tables import source_sha256
from headstart.errors import DamagedFileError, DataError
from headstart.files import read_sealed_json, write_sealed_json
from headstart.models.config import MOST, require_whole
from headstart.pipeline.run_files import PAIRS_FILE
from headstart.randomness import derive_seed

# Held out of pairs that bring none of their own: enough to choose weights by, and never more than
# a look can read.
VALID_SHARE, MOST_HELD_OUT = 0.05, 2_000
# No language says in one piece what another says in so many; of few pieces nothing can be told.
LONGEST_RATIO, FEWEST_PIECES_JUDGED = 9.0, 10

PAIR_COPY = "the pair is in the validation pairs too"
SOURCE_COPY = "the source is in the validation pairs too, with another target"
REMEDY = "Remove the pair"


@dataclass(frozen=True, kw_only=True)
class PairsConfig:
    """The files of pairs, how they are read, and which pairs are left out."""

    source: str
    target: str
    valid_source: str | None = None
    """None holds some of the training pairs out."""
    valid_target: str | None = None
    draw: int = 0
    """The seed of what is held out."""
    most_pieces: int | None = None
    """Longer texts are left out; None leaves out what the positions have no room for."""
    longest_ratio: float = LONGEST_RATIO
    """Pairs are left out of which one side is more than so many times as long as the other."""
    skips_bad: bool = False

    def __post_init__(self) -> None:
        if (self.valid_source is None) != (self.valid_target is None):
            missing = "source" if self.valid_source is None else "target"
            given = self.valid_target if self.valid_source is None else self.valid_source
            raise DataError(
                f"The validation pairs are {given} and no {missing}. Name both files, with "
                "--valid-source and --valid-target, or neither."
            )
        if self.most_pieces is not None:
            require_whole(self, "most_pieces", at_least=1, at_most=MOST)
        if not self.longest_ratio >= 1:
            raise DataError(f"The longest ratio is {self.longest_ratio}; it must be at least 1.")

    def reading(self) -> Reading:
        """Returns a reading that has not begun; a pair with an empty side is left out, counted."""
        complaints = Complaints(skips_bad=self.skips_bad)
        return Reading(meter=Meter(), complaints=complaints, skips_empty=True)


@dataclass(frozen=True, kw_only=True)
class Parallel:
    """Pairs to learn from and to choose by, with what was left out of them."""

    train: list[Pair]
    valid: list[Pair]
    complaints: Complaints


def read_parallel(config: PairsConfig) -> Parallel:
    """Reads pairs and holds some out; no validation source is among the training pairs."""
    reading = config.reading()
    train = list(read_pairs(Path(config.source), Path(config.target), reading))
    if config.valid_source is None or config.valid_target is None:
        train, valid = held_out(train, config.draw)
    else:
        valid = list(read_pairs(Path(config.valid_source), Path(config.valid_target), reading))
        train = without_copies(train, valid, reading.complaints)
    for name, pairs in (("training", train), ("validation", valid)):
        if not pairs:
            left_out = "; ".join(reading.complaints.summary()) or "the files hold none"
            raise DataError(f"No {name} pair is left in {config.source}: {left_out}.")
    return Parallel(train=train, valid=valid, complaints=reading.complaints)


def held_out(pairs: Sequence[Pair], draw: int) -> tuple[list[Pair], list[Pair]]:
    """Returns training and validation pairs; pairs of one source are never torn apart."""
    marks = [mark_of(pair.source) for pair in pairs]
    units = sorted(set(marks))
    if len(units) < 2:
        raise DataError(
            f"The pairs ({len(pairs):,}) have too few different sources ({len(units):,}) to "
            "hold some out. Give more pairs, or validation pairs with --valid-source."
        )
    num = max(1, min(MOST_HELD_OUT, round(VALID_SHARE * len(units))))
    order = np.random.default_rng(derive_seed(draw, "held-out pairs")).permutation(len(units))
    chosen = {units[place] for place in order[:num]}
    train = [pair for pair, mark in zip(pairs, marks, strict=True) if mark not in chosen]
    return train, [pair for pair, mark in zip(pairs, marks, strict=True) if mark in chosen]


def without_copies(
    train: Iterable[Pair], valid: Iterable[Pair], complaints: Complaints
) -> list[Pair]:
    """Returns the training pairs whose sources are new; the others are named and counted."""
    known: dict[bytes, set[bytes]] = {}
    for pair in valid:
        known.setdefault(mark_of(pair.source), set()).add(mark_of(pair.target))
    kept = []
    for pair in train:
        mark = mark_of(pair.source)
        if mark not in known:
            kept.append(pair)
            continue
        what = PAIR_COPY if mark_of(pair.target) in known[mark] else SOURCE_COPY
        complaints.complain(pair.place, what, REMEDY, skips=True)
    return kept


def mark_of(text: str) -> bytes:
    """Returns what stands for a text, whatever its case and marks; for one without words, all."""
    return fingerprint(words(text)) or text.strip().encode()


def pair_hashes(config: PairsConfig) -> dict[str, str]:
    """Returns the SHA-256 of each file of pairs as it is now."""
    names = (config.source, config.target, config.valid_source, config.valid_target)
    return {name: source_sha256(Path(name)) for name in names if name is not None}


def write_pairs_config(folder: Path, config: PairsConfig, sources: dict[str, str]) -> None:
    """Writes where the pairs of a run came from, and what they were."""
    write_sealed_json(folder / PAIRS_FILE, {"reading": asdict(config), "sources": sources})


def read_pairs_config(folder: Path) -> tuple[PairsConfig, dict[str, str]]:
    """Returns where the pairs of a run came from, and the SHA-256 of each file."""
    value = read_sealed_json(folder / PAIRS_FILE)
    try:
        assert isinstance(value, dict)
        return PairsConfig(**value["reading"]), dict(value["sources"])
    except (AssertionError, AttributeError, KeyError, TypeError) as error:
        raise DamagedFileError(f"{folder / PAIRS_FILE} does not describe pairs.") from error
