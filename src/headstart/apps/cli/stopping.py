"""Ctrl-C and SIGTERM while something is trained: the first asks, the second insists."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

# As shells report a program that a signal ended; the same whether it was asked or insisted.
STOPPED_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


class Stopping:
    """Remembers that someone asked to stop."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None

    def __call__(self) -> bool:
        """Whether someone has asked to stop."""
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
        click.echo(
            "Stopping after this step, with a checkpoint. Once more stops at once.", err=True
        )


@contextmanager
def stopping() -> Iterator[Stopping]:
    """Yields something to ask whether to stop, for as long as the block lasts."""
    asked = Stopping()
    before = {number: signal.signal(number, asked.receive) for number in STOPPED_CODES}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_if_stopped(asked: Stopping) -> None:
    """Ends the program with the code of the signal that stopped it, if one did."""
    if asked():
        sys.exit(asked.exit_code)
