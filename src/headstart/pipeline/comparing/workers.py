"""Jobs on the cores there are: a process each, stopped kindly, and gone when their parent is.

Ctrl-C reaches every process of a terminal at once. The workers ignore it: the parent decides, and
asks them to stop by an event, so that each keeps a checkpoint first.
"""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Generic, Protocol, TypeVar, cast

from headstart.errors import HeadstartError, RunError
from headstart.pipeline.watch import Watch

# How often the parent looks whether someone wants to stop.
SECONDS_BETWEEN_LOOKS = 0.2
# A worker that was told to go has nothing left to do; after this long it is made to.
SECONDS_TO_LEAVE = 5.0
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class AnyTask(Protocol):
    """What the parent needs to know of a job."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def folder(self) -> Path:
        """Where what it makes is kept."""

    @property
    def num_bytes(self) -> int:
        """The memory that it takes beyond what any job does."""


Task = TypeVar("Task", bound=AnyTask)
Do = Callable[[Task, Watch], bool]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a job."""

    is_finished: bool
    failure: str = ""
    """The sentence of the error that ended it."""


@dataclass
class Worker(Generic[Task]):
    """A process, the line to it, and the job that it is at."""

    process: BaseProcess
    line: Connection
    task: Task | None = None

    def give(self, task: Task) -> None:
        """Hands over a job."""
        self.task = task
        with suppress(OSError):  # a process that is gone says so where its answer is awaited
            self.line.send(task)

    def outcome(self) -> Outcome:
        """Returns what became of the job; a process that is gone has failed."""
        try:
            received: Outcome = self.line.recv()
        except (EOFError, OSError):
            self.process.join(SECONDS_TO_LEAVE)
            ended = f"its process ended with code {self.process.exitcode}, perhaps for memory"
            return Outcome(is_finished=False, failure=f"{ended}. Try fewer workers.")
        return received


def work_through(
    tasks: Sequence[Task],
    do: Do[Task],
    num_workers: int,
    should_stop: Callable[[], bool],
    on_done: Callable[[Task], None],
    num_bytes: int | None = None,
) -> bool:
    """Does tasks in their order, several at once; returns whether all are finished.

    One that would take more than `num_bytes` together with those at work waits for them.
    """
    shift = Shift(deque(tasks), on_done, num_bytes)
    if num_workers == 1:
        # Alone, this process does it as well, and needs no second one that loads everything again.
        return shift.work_alone(do, should_stop) and shift.num_finished == len(tasks)
    with crew(min(num_workers, len(tasks)), do) as (workers, stop):
        while busy := shift.busy(workers):
            ready = wait(list(busy), SECONDS_BETWEEN_LOOKS)
            for line in ready:
                shift.take(busy[cast(Connection, line)])
            if should_stop() or shift.failed is not None:
                stop.set()
                shift.waiting.clear()
    if shift.failed is not None:
        raise job_error(*shift.failed)
    return shift.num_finished == len(tasks)


@dataclass
class Shift(Generic[Task]):
    """What of the work is still waiting, and what came of the rest."""

    waiting: deque[Task]
    on_done: Callable[[Task], None]
    num_bytes: int | None = None
    """The memory that there is for what jobs take beyond the usual; None is any."""
    num_finished: int = 0
    failed: tuple[Task, str] | None = None
    """The first job that failed, and why."""

    def busy(self, workers: Sequence[Worker[Task]]) -> dict[Connection, Worker[Task]]:
        """Gives those who are idle something to do; returns who is at work, by their lines."""
        for worker in workers:
            if worker.task is None and (task := self.next_beside(workers)) is not None:
                worker.give(task)
        return {worker.line: worker for worker in workers if worker.task is not None}

    def next_beside(self, workers: Sequence[Worker[Task]]) -> Task | None:
        """Returns the first that is waiting and has room beside those at work; alone, any has."""
        num_taken = sum(worker.task.num_bytes for worker in workers if worker.task is not None)
        for place, task in enumerate(self.waiting):
            has_room = self.num_bytes is None or num_taken + task.num_bytes <= self.num_bytes
            if has_room or not num_taken or not task.num_bytes:
                del self.waiting[place]
                return task
        return None

    def work_alone(self, do: Do[Task], should_stop: Callable[[], bool]) -> bool:
        """Does what is waiting in this process; returns whether nobody said stop."""
        watch = Watch(should_stop=should_stop)
        while self.waiting and not should_stop():
            task = self.waiting.popleft()
            self.note(task, outcome_of(task, do, watch))
            if self.failed is not None:
                raise job_error(*self.failed)
        return not self.waiting

    def take(self, worker: Worker[Task]) -> None:
        """Takes what a worker has done."""
        task, outcome = worker.task, worker.outcome()
        assert task is not None
        worker.task = None
        self.note(task, outcome)

    def note(self, task: Task, outcome: Outcome) -> None:
        """Counts a job that is finished, and keeps the first failure."""
        if outcome.failure:
            self.failed = self.failed or (task, outcome.failure)
        elif outcome.is_finished:
            self.num_finished += 1
            self.on_done(task)


def job_error(task: AnyTask, failure: str) -> RunError:
    """Returns the error that ends a sweep, with the folder of the job that failed."""
    return RunError(
        f"The job {task.name} failed: {failure} Its folder is {task.folder}; what is finished is "
        "kept."
    )


@contextmanager
def crew(num_workers: int, do: Do[Task]) -> Iterator[tuple[list[Worker[Task]], Event]]:
    """Yields workers and the event that asks them to stop; none is left when the block ends."""
    context = get_context("spawn")
    stop = context.Event()
    workers: list[Worker[Task]] = []
    try:
        # A worker that was told to stop before it can ignore that would die of it. The event above
        # has begun the process that tracks resources, whose start would let signals through again.
        with signals_held_back():
            for _ in range(num_workers):
                ours, theirs = context.Pipe()
                process = context.Process(target=serve, args=(theirs, stop, do))
                process.start()
                theirs.close()
                workers.append(Worker(process, ours))
        yield workers, stop
    finally:
        stop.set()
        for worker in workers:
            worker.line.close()
        for worker in workers:
            worker.process.join(SECONDS_TO_LEAVE)
            if worker.process.is_alive():
                worker.process.kill()
            worker.process.join()


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Has this thread's signals to stop wait; whoever it bears in the block is born with that."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_signals() -> None:
    """Has a worker ignore signals to stop, those too that were held back since it was born."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


def serve(line: Connection, stop: Event, do: Do[Task]) -> None:
    """Does one job after another until the line is closed; the life of a worker."""
    ignore_signals()
    threading.Thread(target=end_with_parent, daemon=True).start()
    watch = Watch(should_stop=stop.is_set)
    while True:
        try:
            task = line.recv()
        except (EOFError, OSError):
            return
        line.send(outcome_of(task, do, watch))


def outcome_of(task: Task, do: Do[Task], watch: Watch) -> Outcome:
    """Does a job and returns what became of it, as a sentence where it failed."""
    try:
        return Outcome(is_finished=do(task, watch))
    except HeadstartError as error:
        return Outcome(is_finished=False, failure=str(error))
    except Exception as error:  # a bug of ours, told where someone can read it
        return Outcome(is_finished=False, failure=f"{type(error).__name__}: {error}.")


def end_with_parent() -> None:
    """Ends this process as soon as the one that started it is gone, however that ended."""
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
