"""Making the next step's batch while the present one is being learned from."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Ahead(Generic[Made]):
    """Calls a function of the step one step ahead; what comes out is what it would have been."""

    def __init__(self, make: Callable[[int], Made]) -> None:
        self._make = make
        self._worker = ThreadPoolExecutor(max_workers=1)
        self._next: tuple[int, Future[Made]] | None = None

    def __call__(self, step: int) -> Made:
        """Returns what belongs to a step, and begins with the one behind it."""
        is_ready = self._next is not None and self._next[0] == step
        made = self._next[1].result() if is_ready and self._next else self._make(step)
        self._next = (step + 1, self._worker.submit(self._make, step + 1))
        return made
