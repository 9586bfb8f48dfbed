"""The jobs of one comparison, made of its trunks, examples and settings, and done."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from headstart.corpora.compression import kind_of
from headstart.models.accounting.machine import memory_bytes
from headstart.pipeline.comparing.config import OTHER_TEACHERS, TEACHERS, Comparison
from headstart.pipeline.comparing.examples import ComparedExamples, job_examples
from headstart.pipeline.comparing.results import JOBS_FOLDER, ChosenSettings, Json
from headstart.pipeline.comparing.task import Task, run_task
from headstart.pipeline.comparing.timing import SweepProgress, Timings
from headstart.pipeline.comparing.trunks import ComparedTrunk
from headstart.pipeline.comparing.workers import work_through
from headstart.pipeline.planning import Place, best_precision
from headstart.pipeline.recipe_json import to_json
from headstart.pipeline.run_files import is_finished, read_results
from headstart.pipeline.teaching import MOST_UNLABELLED, Teaching
from headstart.pipeline.transfer import Transferring
from headstart.pipeline.watch import Watch
from headstart.transfers.settings import TransferSettings
from headstart.transfers.sweep import Decisive, Job, Sweep, System, jobs_of, new_job

# A worker takes about 400 MB; so many stay below 4 GB.
MOST_WORKERS = 8
# What the words and characters of TF-IDF take for each letter of a text; all such jobs at once have
# half of the memory.
TFIDF_BYTES_PER_LETTER = 94
# Among the jobs: what teachers have answered, until all students have learned from it.
ANSWERS_FOLDER = ".answers"
# The version of how jobs are done. Raise it when the same examples, trunk, settings and seed would
# come out otherwise, so that no comparison mixes jobs of both.
PROCEDURE = 7
# The same for students alone.
TEACHING_PROCEDURE = 3

ShowSweep = Callable[[SweepProgress], None]
# Jobs, and the settings that they are done by.
Round = tuple[Sequence[Job], ChosenSettings]


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
    unlabelled: dict[str, str] = field(default_factory=dict)
    """The SHA-256 of each file of texts without labels."""

    @property
    def jobs_folder(self) -> Path:
        """Where the jobs are."""
        return self.folder / JOBS_FOLDER

    @property
    def place(self) -> Place:
        """Where a job is done; on a processor by one thread, unless told otherwise.

        What jobs on a GPU leave to the processor they do with their share of its cores.
        """
        place = self.wanted.place
        if place.num_threads or (self.is_on_gpu and self.num_workers == 1):
            return place
        share = num_cores() // self.num_workers if self.is_on_gpu else 1
        return replace(place, num_threads=max(1, share))

    @property
    def num_workers(self) -> int:
        """Jobs at once: as many as there are cores for; a GPU has one."""
        if self.wanted.num_workers is not None:
            return self.wanted.num_workers
        if self.is_on_gpu:
            return 1
        return max(1, min(MOST_WORKERS, num_cores() // (self.wanted.place.num_threads or 1)))

    @property
    def is_on_gpu(self) -> bool:
        """Whether networks learn on a GPU."""
        return self.wanted.place.device.startswith("cuda")

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
        sweep = replace(self.sweep, num_seeds=num_seeds)
        return jobs_of(self.systems, sweep, self.decisive(chosen))

    def decisive(self, chosen: ChosenSettings) -> Decisive:
        """Returns what gives all that decides the outcome of a job beside its size and draw."""

        def facts_of(system: System, size: int) -> Json:
            facts: Json = {
                "procedure": PROCEDURE,
                "kind": system.kind,
                "examples": self.examples.key,
            }
            if not system.is_neural:
                return facts
            trunk = self.trunk_of(system)
            facts |= {
                "shape": trunk.facts.shape,
                "trunk": None if system.kind == "cold" else trunk.sha256,
                "settings": deciding_settings(system, chosen[system.key, size]),
                "precision": best_precision(self.place.device),
            }
            if system.kind != "taught":
                return facts
            # All that the name of a teacher's job is made of: another teacher is another job.
            teachers = [facts_of(teacher, size) for teacher in self.teachers_of(system)]
            return facts | {
                "teachers": [*teachers, *OTHER_TEACHERS],
                "teaching_seeds": self.teaching_seeds(size),
                "unlabelled": [
                    [(kind_of(Path(name)), digest) for name, digest in self.unlabelled.items()],
                    self.wanted.examples.text_column,
                ],
                "most": MOST_UNLABELLED,
                "teaching": TEACHING_PROCEDURE,
            }

        return facts_of

    def teachers_of(self, system: System) -> list[System]:
        """Returns the systems of the same trunk whose finished jobs teach one."""
        return [one for one in self.systems if one.kind in TEACHERS and one.like == system.like]

    def teaching_seeds(self, size: int) -> list[int] | None:
        """Returns the seeds that teach every student of a size; None where each has its own alone.

        Networks of another seed may teach only where they have learned the same labels. With a
        budget in minutes nobody knows yet how many seeds there will be.
        """
        is_shared = size == self.sweep.num_train and self.wanted.minutes is None
        return list(range(self.sweep.num_seeds)) if is_shared else None

    def teaching_jobs(self, student: Job, chosen: ChosenSettings) -> list[list[Job]]:
        """Returns the jobs whose networks answer for a student, those of a kind together."""
        decisive = self.decisive(chosen)
        return [
            [
                new_job(teacher, student.size, seed, self.sweep, decisive)
                for seed in self.teaching_seeds(student.size) or [student.seed]
            ]
            for teacher in self.teachers_of(student.system)
        ]

    def with_teachers(self, jobs: Sequence[Job], chosen: ChosenSettings) -> list[Job]:
        """Returns jobs, and those that must have finished before the students among them."""
        students = [job for job in jobs if job.system.kind == "taught"]
        voices = [voice for job in students for voice in self.teaching_jobs(job, chosen)]
        return [*jobs, *(teacher for voice in voices for teacher in voice)]

    def teaching(self, job: Job, chosen: ChosenSettings) -> Teaching:
        """Returns who teaches the student of a job, and on which texts."""
        voices = self.teaching_jobs(job, chosen)
        folders = [tuple(self.jobs_folder / each.name for each in voice) for voice in voices]
        return self.lessons(folders, job.seed)

    def lessons(self, classifiers: Sequence[tuple[Path, ...]], seed: int) -> Teaching:
        """Returns the texts without labels that a seed draws, and who answers for them."""
        return Teaching(
            unlabelled=tuple(self.unlabelled),
            teachers=(*classifiers, *OTHER_TEACHERS),
            most=MOST_UNLABELLED,
            seed=seed,
            text_column=self.wanted.examples.text_column,
            kept=self.jobs_folder / ANSWERS_FOLDER,
        )

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
                teaching=self.teaching(job, chosen) if job.system.kind == "taught" else None,
            )
        return Task(
            name=job.name,
            folder=self.jobs_folder / job.name,
            kind=job.system.kind,
            examples=examples,
            transferring=transferring,
            # Students are taught by a TF-IDF of their own.
            num_bytes=self.tfidf_bytes(job.size) if job.system.kind in {"tfidf", "taught"} else 0,
        )

    def tfidf_bytes(self, size: int) -> int:
        """Returns about how much memory TF-IDF takes for so many examples."""
        examples = self.examples
        return TFIDF_BYTES_PER_LETTER * examples.num_letters * size // len(examples.labelled.train)

    def finish(self, *rounds: Round) -> bool:
        """Does what is not yet finished of some jobs, teachers first; returns whether all are."""
        whole = [(self.with_teachers(jobs, chosen), chosen) for jobs, chosen in rounds]
        by_name = {job.name: job for jobs, _ in whole for job in jobs}
        chosen_for = {job.name: chosen for jobs, chosen in whole for job in jobs}
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

        memory = memory_bytes("cpu")
        # A student begins when its teachers have finished.
        for is_student in (False, True):
            tasks = [
                self.task(job, chosen_for[job.name])
                for job in left.values()
                if (job.system.kind == "taught") == is_student
            ]
            if tasks and not work_through(
                tasks,
                run_task,
                self.num_workers,
                self.watch.should_stop,
                note,
                None if memory is None else memory // 2,
            ):
                return False
        return True

    def seconds_of(self, job: Job) -> float:
        """Returns how long a finished job took."""
        return float(read_results(self.jobs_folder / job.name)["seconds"])


def num_cores() -> int:
    """Returns the cores that this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    return allowed or os.cpu_count() or 1


def deciding_settings(system: System, settings: TransferSettings) -> object:
    """Returns settings as JSON values, without what makes no difference to a system."""
    value = to_json(settings)
    assert isinstance(value, dict)
    if system.kind != "taught":
        # There is nothing that labels could outweigh; and jobs of before keep their names.
        del value["transfer"]["labelled_weight"]
    return value
