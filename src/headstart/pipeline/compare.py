"""Was pretraining worth it? Every job of the question, then the answer with all it stands on."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headstart.files import json_digest, locked, read_sealed_json, write_json, write_sealed_json
from headstart.pipeline.compared_examples import (
    ComparedExamples,
    compared_examples,
    find_leaks,
    job_examples,
)
from headstart.pipeline.compared_trunks import ComparedTrunk, read_trunks
from headstart.pipeline.comparison import Comparison
from headstart.pipeline.comparison_report import write_report
from headstart.pipeline.comparison_results import (
    JOBS_FOLDER,
    ChosenSettings,
    Done,
    Json,
    results_of,
)
from headstart.pipeline.planning import Place, best_precision
from headstart.pipeline.recipe_json import to_json
from headstart.pipeline.run_files import RESULTS_FILE, is_finished, read_results
from headstart.pipeline.sweep_task import Task, run_task
from headstart.pipeline.sweep_timing import SweepProgress, Timings
from headstart.pipeline.sweep_workers import work_through
from headstart.pipeline.transfer import Transferring
from headstart.pipeline.watch import Watch
from headstart.transfer.settings import TransferSettings
from headstart.transfer.sweep import Job, Sweep, System, checked_sizes, jobs_of, systems_of

BUDGET_FILE = "budget.json"
# Below two seeds nothing can be said of other seeds.
FEWEST_SEEDS = 2
# A worker takes about 400 MB; so many stay below 4 GB.
MOST_WORKERS = 8

ShowSweep = Callable[[SweepProgress], None]


@dataclass(frozen=True, kw_only=True)
class Sweeping:
    """The jobs of a comparison, and how they are done."""

    wanted: Comparison
    folder: Path
    trunks: tuple[ComparedTrunk, ...]
    examples: ComparedExamples
    systems: tuple[System, ...]
    sweep: Sweep
    watch: Watch
    show: ShowSweep

    @property
    def jobs_folder(self) -> Path:
        """Where the jobs are."""
        return self.folder / JOBS_FOLDER

    @property
    def place(self) -> Place:
        """Where a job is done; on a processor by one thread, unless told otherwise."""
        place = self.wanted.place
        is_gpu = place.device.startswith("cuda")
        return place if is_gpu or place.num_threads else replace(place, num_threads=1)

    @property
    def num_workers(self) -> int:
        """Jobs at once: as many as there are cores for; a GPU has one."""
        if self.wanted.num_workers is not None:
            return self.wanted.num_workers
        if self.place.device.startswith("cuda"):
            return 1
        num_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
        cores = num_cores or os.cpu_count() or 1
        return max(1, min(MOST_WORKERS, cores // (self.place.num_threads or 1)))

    def trunk_of(self, system: System) -> ComparedTrunk:
        """Returns the trunk whose weights or shape a network begins with."""
        return next(trunk for trunk in self.trunks if trunk.name == system.like)

    def own_settings(self) -> dict[tuple[str, int], TransferSettings]:
        """Returns the settings of each network at each size before any were tried."""
        return {
            (system.key, size): self.wanted.settings.of(system.kind)
            for system in self.systems
            if system.is_neural
            for size in self.sweep.sizes
        }

    def jobs(self, chosen: ChosenSettings, num_seeds: int) -> list[Job]:
        """Returns every job with the settings that were chosen."""

        def decisive(system: System, size: int) -> Json:
            facts: Json = {"kind": system.kind, "examples": self.examples.key}
            if not system.is_neural:
                return facts
            trunk = self.trunk_of(system)
            return facts | {
                "shape": trunk.facts.shape,
                "trunk": None if system.kind == "cold" else trunk.sha256,
                "settings": to_json(chosen[system.key, size]),
                "precision": best_precision(self.place.device),
            }

        return jobs_of(self.systems, replace(self.sweep, num_seeds=num_seeds), decisive)

    def task(self, job: Job, chosen: ChosenSettings) -> Task:
        """Returns what a worker needs to know of a job."""
        examples = job_examples(self.examples.config, job.size, job.draw)
        transferring = None
        if job.system.is_neural:
            trunk = self.trunk_of(job.system)
            is_cold = job.system.kind == "cold"
            transferring = Transferring(
                recipe=replace(trunk.recipe, plan=None),
                examples=examples,
                settings=chosen[job.system.key, job.size],
                place=replace(self.place, seed=job.seed),
                start=None if is_cold else trunk.folder.resolve(),
                tokenizer=trunk.tokenizer.resolve() if is_cold else None,
            )
        return Task(
            name=job.name,
            folder=self.jobs_folder / job.name,
            kind=job.system.kind,
            examples=examples,
            transferring=transferring,
        )

    def finish(self, jobs: Sequence[Job], chosen: ChosenSettings) -> bool:
        """Does what is not yet finished of some jobs; returns whether all are."""
        by_name = {job.name: job for job in jobs}
        left = {
            name: job for name, job in by_name.items() if not is_finished(self.jobs_folder / name)
        }
        timings = Timings()
        for job in by_name.values():
            if job.name not in left:
                timings.add(job, self.seconds_of(job))

        def note(task: Task) -> None:
            job = left.pop(task.name)
            timings.add(job, self.seconds_of(job))
            self.show(
                SweepProgress(
                    num_done=len(by_name) - len(left),
                    num_jobs=len(by_name),
                    seconds_left=timings.left(left.values(), self.num_workers),
                    last=job.name,
                )
            )

        tasks = [self.task(job, chosen) for job in left.values()]
        return not tasks or work_through(
            tasks, run_task, self.num_workers, self.watch.should_stop, note
        )

    def seconds_of(self, job: Job) -> float:
        """Returns how long a finished job took."""
        return float(read_results(self.jobs_folder / job.name)["seconds"])


def compare(wanted: Comparison, folder: Path, watch: Watch | None = None) -> Json | None:
    """Answers a comparison; returns its results, or nothing where someone said stop."""
    with locked(folder):
        return run_comparison(wanted, folder, watch or Watch(), lambda _progress: None)


def run_comparison(wanted: Comparison, folder: Path, watch: Watch, show: ShowSweep) -> Json | None:
    """Does the same in a folder that is locked already, and shows how far it is."""
    started_at = time.monotonic()
    trunks = read_trunks(wanted.starts)
    examples = compared_examples(wanted.examples, folder, watch)
    num_train = len(examples.labelled.train)
    sweeping = Sweeping(
        wanted=wanted,
        folder=folder,
        trunks=trunks,
        examples=examples,
        systems=systems_of([trunk.facts for trunk in trunks]),
        sweep=Sweep(
            sizes=checked_sizes(wanted.sizes, num_train),
            num_seeds=wanted.num_seeds,
            num_train=num_train,
        ),
        watch=watch,
        show=show,
    )
    leaks = find_leaks(examples, trunks, folder, watch)
    chosen = chosen_settings(sweeping)
    num_seeds = None if chosen is None else affordable_seeds(sweeping, chosen)
    if chosen is None or num_seeds is None:
        return None
    jobs = sweeping.jobs(chosen, num_seeds)
    if not sweeping.finish(jobs, chosen):
        return None
    done = Done(
        wanted=wanted,
        folder=folder,
        trunks=trunks,
        examples=examples,
        leaks=leaks,
        systems=sweeping.systems,
        sweep=replace(sweeping.sweep, num_seeds=num_seeds),
        jobs=tuple(jobs),
        chosen=chosen,
    )
    results = results_of(done, time.monotonic() - started_at)
    write_json(folder / RESULTS_FILE, results)
    write_report(results, folder)
    return results


def chosen_settings(sweeping: Sweeping) -> ChosenSettings | None:
    """Returns the settings of each network at each size; rates to try are tried on validation.

    Every network has the same number of tries, with the first seed. None means that someone said
    stop.
    """
    own, rates = sweeping.own_settings(), sweeping.wanted.rates
    if not rates:
        return own
    tried: dict[tuple[str, int], dict[float, float]] = {place: {} for place in own}
    # Of rates that do as well, the one nearest to the system's own.
    for rate in sorted(rates, key=lambda rate: max(rate, 1 / rate)):
        settings = {place: with_rate(one, rate) for place, one in own.items()}
        jobs = [job for job in sweeping.jobs(settings, num_seeds=1) if job.system.is_neural]
        if not sweeping.finish(jobs, settings):
            return None
        for job in jobs:
            results = read_results(sweeping.jobs_folder / job.name)
            tried[job.system.key, job.size][rate] = results["valid"]["accuracy"]
    return {
        place: with_rate(own[place], max(tried[place], key=lambda rate: tried[place][rate]))
        for place in own
    }


def with_rate(settings: TransferSettings, rate: float) -> TransferSettings:
    """Returns settings with so many times their rate."""
    learning = settings.learning
    # No rate beyond 1 is a rate.
    peak_rate = min(1.0, learning.peak_rate * rate)
    return replace(settings, learning=replace(learning, peak_rate=peak_rate))


def affordable_seeds(sweeping: Sweeping, chosen: ChosenSettings) -> int | None:
    """Returns how many seeds fit the budget, once the jobs of the first have shown what they take.

    What was decided once is kept, so that a sweep that is gone on with stays the same. None means
    that someone said stop.
    """
    wanted, path = sweeping.wanted, sweeping.folder / BUDGET_FILE
    if wanted.minutes is None or wanted.num_seeds <= FEWEST_SEEDS:
        return wanted.num_seeds
    jobs = [job for job in sweeping.jobs(chosen, wanted.num_seeds) if job.seed == 0]
    key = json_digest([wanted.minutes, wanted.num_seeds, [job.name for job in jobs]])
    if path.exists():
        kept = read_sealed_json(path)
        if isinstance(kept, dict) and kept.get("key") == key:
            return int(kept["num_seeds"])
    if not sweeping.finish(jobs, chosen):
        return None
    # A job that stands for several seeds is done once.
    seconds = sum(sweeping.seconds_of(job) for job in jobs) / sweeping.num_workers
    num_fitting = int(60 * wanted.minutes / max(seconds, 1e-9))
    num_seeds = max(FEWEST_SEEDS, min(wanted.num_seeds, num_fitting))
    if num_seeds < wanted.num_seeds:
        sweeping.watch.say(
            f"One seed takes {seconds / 60:.1f} minutes, so {num_seeds} of {wanted.num_seeds} seeds "
            f"are done in the {wanted.minutes:g} minutes that were given."
        )
    write_sealed_json(path, {"key": key, "num_seeds": num_seeds})
    return num_seeds
