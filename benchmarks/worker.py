"""A contestant in a process of its own, which does what it is asked and says how long it took."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection

Run = Callable[[], float]
NewRuns = Callable[[], dict[str, Run]]


def serve(new_runs: NewRuns, pipe: Connection) -> None:
    """Does what the parent asks for, in a process of its own, until it is asked nothing."""
    runs = new_runs()
    while (name := pipe.recv()) is not None:
        pipe.send(runs[name]())


class Worker:
    """A contestant in a process of its own."""

    def __init__(self, new_runs: NewRuns) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        self.process = context.Process(target=serve, args=(new_runs, theirs))
        self.process.start()

    def run(self, name: str) -> float:
        """Has the contestant do one run, and returns its seconds."""
        self.pipe.send(name)
        return self.pipe.recv()

    def stop(self) -> None:
        """Ends the process."""
        self.pipe.send(None)
        self.process.join()
