"""Ctrl-C and SIGTERM while something is trained: the first asks, the second insists.

Before a step is done there is nothing to be kept, and the first is enough.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STANDARD_ERROR = 2
# As shells report a program that a signal ended; the same whether it was asked or insisted.
STOPPED_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


class Stopped(BaseException):
    """Someone asked to stop before there was anything to keep."""


class Stopping:
    """Remembers that someone asked to stop."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self.has_work = False

    def __call__(self) -> bool:
        """Whether someone has asked to stop; the loop asks once it has work that can be kept."""
        self.has_work = True
        return self.signal is not None

    @property
    def exit_code(self) -> int:
        """The code to exit with after having stopped."""
        return STOPPED_CODES[self.signal] if self.signal is not None else 0

    def receive(self, number: int, _frame: FrameType | None) -> None:
        """Takes a signal: the first is noted, a second ends the process at once."""
        if self.signal is not None:
            # Nothing is lost by it: what is half-written is beside its target, and the system
            # frees the lock.
            os._exit(STOPPED_CODES[signal.Signals(number)])
        self.signal = signal.Signals(number)
        if not self.has_work:
            tell("Stopped before a step was done; nothing is lost.")
            raise Stopped
        tell("Stopping after this step, with a checkpoint. Once more stops at once.")


def tell(line: str) -> None:
    """Writes a line to the error stream, past a buffer that may be half-way through another."""
    with contextlib.suppress(OSError):
        os.write(STANDARD_ERROR, f"{line}\n".encode())


@contextmanager
def stopping() -> Iterator[Stopping]:
    """Yields something to ask whether to stop, for as long as the block lasts."""
    asked = Stopping()
    before = {number: signal.signal(number, asked.receive) for number in STOPPED_CODES}
    try:
        yield asked
    except Stopped:
        # Not by an exit that waits for others: one may be deep inside a library.
        os._exit(asked.exit_code)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def tidied() -> Iterator[None]:
    """Has SIGTERM end the block as Ctrl-C does: what is half-written is removed."""

    def leave(number: int, _frame: FrameType | None) -> None:
        sys.exit(STOPPED_CODES[signal.Signals(number)])

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        # None where a handler was set outside Python.
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def exit_if_stopped(asked: Stopping) -> None:
    """Ends the program with the code of the signal that stopped it, if one did."""
    if asked():
        sys.exit(asked.exit_code)
