"""Letting Ctrl-C stop a job that is deep inside a library, where Python hears nothing of it."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

# Some systems hear of Ctrl-C only between two waits.
SECONDS_BETWEEN_LOOKS = 0.2

Answer = TypeVar("Answer")


def interruptible(job: Callable[[], Answer]) -> Answer:
    """Returns a job's answer; Ctrl-C is heard at once, and the job ends with the process."""
    outcome: Future[Answer] = Future()

    def run() -> None:
        try:
            outcome.set_result(job())
        except BaseException as error:  # raised where the answer is waited for
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    while not outcome.done():
        wait([outcome], timeout=SECONDS_BETWEEN_LOOKS)
    return outcome.result()
