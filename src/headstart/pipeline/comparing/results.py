"""Finished jobs to results.json: every number of a comparison, and the verdict upon them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from headstart import __version__
from headstart.evaluation.crossed import CrossedMean, crossed_share
from headstart.files import sha256_of
from headstart.pipeline.comparing.answers import Answers, read_answers
from headstart.pipeline.comparing.config import Comparison
from headstart.pipeline.comparing.curves import curves_json, epochs_to_cold_best, read_curves
from headstart.pipeline.comparing.errors import errors_worth_reading
from headstart.pipeline.comparing.examples import ComparedExamples, Leaks
from headstart.pipeline.comparing.ledger import trunk_ledger
from headstart.pipeline.comparing.scores import (
    MAIN_TEST,
    differences,
    scores,
    worths,
    worths_json,
)
from headstart.pipeline.comparing.trunks import ComparedTrunk
from headstart.pipeline.environment import environment
from headstart.pipeline.run_files import read_results
from headstart.pipeline.taught import read_teaching
from headstart.transfers.settings import TransferSettings
from headstart.transfers.sweep import Job, Sweep, System, TrunkFacts
from headstart.transfers.verdict import Evidence, unasked_verdict, verdict

VERSION = 1
JOBS_FOLDER = "jobs"
Json = dict[str, object]
ChosenSettings = Mapping[tuple[str, int], TransferSettings]
"""The settings of each network at each size."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """A comparison whose jobs are finished."""

    wanted: Comparison
    folder: Path
    trunks: tuple[ComparedTrunk, ...]
    examples: ComparedExamples
    leaks: Leaks
    systems: tuple[System, ...]
    sweep: Sweep
    jobs: tuple[Job, ...]
    chosen: ChosenSettings
    unlabelled: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of each file of texts without labels."""

    @property
    def facts(self) -> tuple[TrunkFacts, ...]:
        """The trunks as far as systems depend on them."""
        return tuple(trunk.facts for trunk in self.trunks)

    @property
    def jobs_folder(self) -> Path:
        """Where the jobs are."""
        return self.folder / JOBS_FOLDER


def results_of(done: Done) -> Json:
    """Returns all that a comparison found, as results.json holds it."""
    answers = read_answers(done.jobs, done.jobs_folder, done.leaks.is_clean_N)
    curves = read_curves(done.jobs, done.jobs_folder)
    primary = done.systems[0].key
    largest = max(done.sweep.sizes)
    labelled = done.examples.labelled
    return {
        "version": VERSION,
        "made": made_json(done),
        "question": question_json(done),
        "systems": [
            {"key": one.key, "name": one.name, "kind": one.kind, "trunk": one.trunk}
            for one in done.systems
        ],
        "scores": list(scores(answers)),
        **decided(done, answers),
        "curves": curves_json(curves),
        "epochs_to_cold_best": epochs_to_cold_best(curves, done.systems, done.facts),
        "leaks": done.leaks.found,
        "ledger": {
            trunk.name: trunk_ledger(
                trunk, done.wanted.settings.warm, labelled.train, len(labelled.labels)
            )
            for trunk in done.trunks
        },
        "errors": errors_worth_reading(answers, (primary, largest), labelled.test, labelled.labels),
        "jobs": [job_json(job, done.folder) for job in done.jobs],
    }


def decided(done: Done, answers: Answers) -> Json:
    """Returns the differences, what trunks are worth in labels, and the verdict."""
    found = differences(answers, done.systems, done.facts, done.sweep.sizes)
    worth = worths(answers, done.systems, done.facts)
    asked = next((row for row in found if row.is_primary), None)
    if asked is None:
        answer = unasked_verdict(plain_scores(done, answers), MAIN_TEST, max(done.sweep.sizes))
    else:
        others = [row for row in found if row.test == MAIN_TEST and not row.is_primary]
        answer = verdict(Evidence(primary=asked, others=others, worths=worth[asked.of]))
    return {
        "differences": [asdict(row) for row in found],
        "label_worth": worths_json(worth),
        "verdict": asdict(answer),
    }


def plain_scores(done: Done, answers: Answers) -> dict[str, CrossedMean]:
    """Returns the accuracy of every system with the most labels, by what it is called."""
    largest = max(done.sweep.sizes)
    return {
        system.name: crossed_share(answers.right((system.key, largest), MAIN_TEST))
        for system in done.systems
    }


def made_json(done: Done) -> Json:
    """Returns when, where and by what command the comparison was made."""
    return {
        "date": date.today().isoformat(),
        "headstart": __version__,
        "environment": environment(done.wanted.place.device),
        "command": done.wanted.command,
        "seconds": round(seconds_in_all(done), 1),
    }


def seconds_in_all(done: Done) -> float:
    """Returns what the jobs took together, however often they were stopped."""
    # One job for all seeds is counted once.
    names = {job.name for job in done.jobs}
    return sum(float(read_results(done.jobs_folder / name)["seconds"]) for name in sorted(names))


def question_json(done: Done) -> Json:
    """Returns what was asked, so that it can be asked again."""
    labelled, names = done.examples.labelled, done.wanted.examples
    counts = {"train": labelled.train, "valid": labelled.valid, "test": labelled.test}
    files = {
        split: {"path": path, "sha256": file_sha256(path), "num_examples": len(counts[split])}
        for split, path in (("train", names.train), ("valid", names.valid), ("test", names.test))
        # Without a file of its own, validation was held out of the training examples.
        if path is not None
    }
    files.setdefault("valid", {"path": names.train, "num_examples": len(labelled.valid)})
    files["test"]["num_clean"] = int(done.leaks.is_clean_N.sum())
    return {
        "trunks": [trunk.as_json() for trunk in done.trunks],
        **files,
        **unlabelled_json(done),
        "labels": list(labelled.labels),
        "sizes": list(done.sweep.sizes),
        "seeds": list(range(done.sweep.num_seeds)),
        "settings": settings_json(done),
    }


def unlabelled_json(done: Done) -> Json:
    """Returns the texts without labels as the first student had them; nothing where none has."""
    taught = next((one for one in done.systems if one.kind == "taught"), None)
    if taught is None:
        return {}
    teaching = first_teaching(done, taught)
    counts = {name: count for name, count in teaching.items() if name.startswith("num_")}
    files = [{"path": path, "sha256": digest} for path, digest in done.unlabelled.items()]
    return {
        "unlabelled": {"files": files, **counts, "num_teachers": len(teaching["teachers"])},
    }


def first_teaching(done: Done, system: System) -> dict[str, Any]:
    """Returns what the first student of a system with the most labels was taught, and by whom."""
    place = (system.key, max(done.sweep.sizes), 0)
    (first,) = [job for job in done.jobs if (job.system.key, job.size, job.seed) == place]
    teaching = read_teaching(done.jobs_folder / first.name)
    assert teaching is not None
    return teaching


def file_sha256(name: str) -> str | None:
    """Returns the SHA-256 of a file; a pair of files, or a data set of a hub, has none alone."""
    return sha256_of(Path(name)) if Path(name).is_file() else None


def settings_json(done: Done) -> Json:
    """Returns how each system learned."""
    found: dict[str, object] = {
        system.key: network_json(system, done) for system in done.systems if system.is_neural
    }
    largest = max(done.sweep.sizes)
    for job in done.jobs:
        if job.system.kind == "tfidf" and (job.size, job.seed) == (largest, 0):
            found[job.system.key] = read_results(done.jobs_folder / job.name)["settings"]
    return found


def network_json(system: System, done: Done) -> Json:
    """Returns how a network learned, with the rate at each size where rates were tried."""
    sizes: Sequence[int] = done.sweep.sizes
    settings = done.chosen[system.key, max(sizes)]
    trunk = next(trunk for trunk in done.trunks if trunk.name == system.like)
    rates = {str(size): done.chosen[system.key, size].learning.peak_rate for size in sizes}
    return {
        "recipe": trunk.recipe.name,
        "mode": settings.transfer.mode,
        "length": settings.length or trunk.recipe.length,
        "sequences_per_step": settings.examples_per_step,
        "epochs": settings.epochs,
        "fewest_steps": settings.fewest_steps,
        "peak_rate": settings.learning.peak_rate if len(set(rates.values())) == 1 else rates,
        "schedule": settings.learning.schedule,
        "warm_up_share": settings.learning.warm_up_share,
        "weight_decay": settings.learning.weight_decay,
        "layer_decay": settings.transfer.layer_decay,
        "fits_head": settings.transfer.fits_head,
        "num_averaged": settings.transfer.num_averaged,
        "dropout": settings.dropout,
        "pooling": settings.pooling or trunk.recipe.pooling,
        "rates_tried": list(done.wanted.rates) or [1.0],
    } | (teachers_json(done, system, settings) if system.kind == "taught" else {})


def teachers_json(done: Done, system: System, settings: TransferSettings) -> Json:
    """Returns who taught a student, how much each counted, and how much its labels do."""
    shares = first_teaching(done, system)["shares"]
    return {
        "teachers": list(done.wanted.teachers),
        "shares": dict(zip(done.wanted.teachers, shares, strict=True)),
        "labelled_weight": settings.transfer.labelled_weight,
    }


def job_json(job: Job, folder: Path) -> Json:
    """Returns a finished job, with its folder below that of the comparison."""
    home = Path(JOBS_FOLDER) / job.name
    return {
        "system": job.system.key,
        "size": job.size,
        "seed": job.seed,
        "folder": str(home),
        "seconds": round(float(read_results(folder / home)["seconds"]), 3),
        "state": "finished",
    }
