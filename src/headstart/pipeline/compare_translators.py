"""Was pretraining worth it for translation? Warm and cold from each seed, then the answer."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from headstart.corpora.pairs import Pair
from headstart.errors import DamagedFileError, DataError
from headstart.evaluation.translator_comparison import compare_systems
from headstart.files import read_sealed_json, write_json, write_sealed_json
from headstart.pipeline.run_files import RESULTS_FILE, read_results

System = Literal["warm", "cold"]
# The one that pretraining is asked about comes first.
SYSTEMS: tuple[System, System] = ("warm", "cold")
JOBS_FOLDER, TRANSLATIONS_FOLDER = "jobs", "translations"


@dataclass(frozen=True, kw_only=True)
class TranslatorJob:
    """One translator to be trained."""

    system: System
    seed: int

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"{self.system}-{self.seed}"


# Trains the run of a job in a folder, or goes on with it, and returns its translations of the test
# in order; nothing where someone said stop.
Work = Callable[[TranslatorJob, Path], list[str] | None]


def compare_translators(
    folder: Path, num_seeds: int, test: Sequence[Pair], work: Work, num_copied: int = 0
) -> dict[str, Any] | None:
    """Does every job that is not done yet, and returns the results; nothing where stopped.

    Of the test's sources, `num_copied` are among the training pairs too.
    """
    test_hash = hash_of(test)
    found: dict[TranslatorJob, list[str]] = {}
    for job in jobs(num_seeds):
        kept = folder / TRANSLATIONS_FOLDER / f"{job.name}.json"
        if not kept.exists():
            texts = work(job, folder / JOBS_FOLDER / job.name)
            if texts is None:
                return None
            require_all(texts, test, job)
            write_sealed_json(kept, {"test": test_hash, "texts": texts})
        found[job] = read_translations(kept, test_hash)
    warm, cold = (
        [found[TranslatorJob(system=system, seed=seed)] for seed in range(num_seeds)]
        for system in SYSTEMS
    )
    compared = compare_systems(warm, cold, [pair.target for pair in test])
    facts = {"systems": SYSTEMS, "num_copied": num_copied}
    write_json(folder / RESULTS_FILE, facts | asdict(compared))
    # As a file gives it, so that what is returned and what is kept are the same.
    return read_results(folder)


def jobs(num_seeds: int) -> Iterator[TranslatorJob]:
    """Yields the jobs seed by seed, so that whoever stops early has whole pairs of them."""
    if num_seeds < 1:
        raise DataError(f"{num_seeds} seeds were asked for; ask for at least 1.")
    for seed in range(num_seeds):
        for system in SYSTEMS:
            yield TranslatorJob(system=system, seed=seed)


def require_all(texts: Sequence[str], test: Sequence[Pair], job: TranslatorJob) -> None:
    """Raises where a job has not translated each sentence of the test."""
    if len(texts) != len(test):
        raise DataError(
            f"The job {job.name} gave {len(texts):,} translations of {len(test):,} sentences; "
            "each needs one."
        )


def read_translations(path: Path, test_hash: str) -> list[str]:
    """Returns the translations that a job gave, of this test and no other."""
    value = read_sealed_json(path)
    try:
        assert isinstance(value, dict)
        is_same, texts = value["test"] == test_hash, list(value["texts"])
    except (AssertionError, KeyError, TypeError) as error:
        raise DamagedFileError(f"{path} does not hold translations.") from error
    if not is_same:
        raise DataError(
            f"{path} holds translations of another test. Name the test that this comparison began "
            "with, or another folder with --out."
        )
    return texts


def hash_of(test: Sequence[Pair]) -> str:
    """Returns what tells one test from another."""
    pairs = json.dumps([[pair.source, pair.target] for pair in test])
    return hashlib.sha256(pairs.encode()).hexdigest()
