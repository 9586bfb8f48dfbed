"""One job of a sweep, wherever it is done: begun if it is new, gone on with if it was cut off."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from headstart.errors import LockedError
from headstart.locks import locked
from headstart.pipeline.comparing.baseline_job import run_baseline
from headstart.pipeline.examples import ExamplesConfig
from headstart.pipeline.learner import ScoringStopped
from headstart.pipeline.resumption import Resumption
from headstart.pipeline.run_files import RECIPE_FILE, is_finished
from headstart.pipeline.transfer import Transferring, begin_transfer, resume_transfer
from headstart.pipeline.watch import Watch

# The workers of a sweep that was just killed end a moment after it.
SECONDS_PATIENT, SECONDS_BETWEEN_TRIES = 10.0, 0.2


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a worker needs to know of a job."""

    name: str
    folder: Path
    kind: str
    examples: ExamplesConfig
    transferring: Transferring | None
    """For a network; a baseline has none."""
    num_bytes: int = 0
    """The memory that it takes beyond what any job does."""


def run_task(task: Task, watch: Watch) -> bool:
    """Does a job from wherever it stands; returns whether it is finished."""
    with patiently_locked(task.folder):
        if is_finished(task.folder):
            return True
        if task.transferring is None:
            run_baseline(task.kind, task.examples, task.folder)
            return True
        if not (task.folder / RECIPE_FILE).exists():
            try:
                begin_transfer(task.transferring, task.folder, watch, watch.should_stop)
            except ScoringStopped:
                return False
        return resume_transfer(task.folder, Resumption(), watch)


@contextmanager
def patiently_locked(folder: Path) -> Iterator[None]:
    """Holds a folder, after a while of waiting where another process is just leaving it."""
    give_up_at = time.monotonic() + SECONDS_PATIENT
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(locked(folder))
                break
            except LockedError:
                if time.monotonic() > give_up_at:
                    raise
                time.sleep(SECONDS_BETWEEN_TRIES)
        yield
