"""Progress on anything that takes longer than two seconds: a bar in a terminal, lines in a pipe."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, Protocol

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from headstart.reports.numbers import show_bytes, show_count, show_duration

SECONDS_BETWEEN_LINES = 2.0
# Below so many a second the decimals count.
FEW = 10
Unit = Literal["steps", "bytes"]


class Advance(Protocol):
    """What a job calls as it comes along."""

    def __call__(self, count: int = 1) -> None:
        """Says that so much more is done."""


@contextmanager
def shown_progress(what: str, total: int | None, unit: Unit = "steps") -> Iterator[Advance]:
    """Yields a function to call with each part of a job that is done; the total may be unknown."""
    # On the error stream, so that a pipe of the results stays clean.
    console = Console(stderr=True)
    if not console.is_terminal:
        yield LineProgress(what, total, unit)
        return
    counts: tuple[ProgressColumn, ...] = (MofNCompleteColumn(),)
    if unit == "bytes":
        counts = (DownloadColumn(), TransferSpeedColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), *counts, TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda count=1: progress.advance(task, count)


@contextmanager
def shown_work(what: str) -> Iterator[None]:
    """Says that something is going on that cannot tell how far it is."""
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(what):
            yield
    else:
        click.echo(f"{what} …", err=True)
        yield


class LineProgress:
    """Counts what is done and prints a plain line now and then."""

    def __init__(self, what: str, total: int | None, unit: Unit) -> None:
        self.what, self.total, self.unit = what, total, unit
        self.num_done = 0
        self.started_at = self.printed_at = time.monotonic()

    def __call__(self, count: int = 1) -> None:
        """Says that so much more is done."""
        self.num_done += count
        now = time.monotonic()
        if now - self.printed_at < SECONDS_BETWEEN_LINES:
            return
        self.printed_at = now
        rate = self.num_done / (now - self.started_at)
        show = show_bytes if self.unit == "bytes" else show_count
        pace = show(rate) if self.unit == "bytes" or rate >= FEW else f"{rate:.2g}"
        line = f"{self.what}: {show(self.num_done)}"
        if self.total is None:
            click.echo(f"{line}, {pace}/s", file=sys.stderr)
            return
        left = show_duration(max(0, self.total - self.num_done) / rate)
        click.echo(f"{line} of {show(self.total)}, {pace}/s, {left} left", file=sys.stderr)
