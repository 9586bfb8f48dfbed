"""Progress on anything that takes longer than two seconds: a bar in a terminal, lines in a pipe."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS_BETWEEN_LINES = 2.0


@contextmanager
def shown_progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Yields a function to call after each of `total` points of a job."""
    # On the error stream, so that a pipe of the results stays clean.
    console = Console(stderr=True)
    if not console.is_terminal:
        yield line_progress(what, total)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)


def line_progress(what: str, total: int) -> Callable[[], None]:
    """Returns a function that counts points and prints a plain line now and then."""
    started_at = printed_at = time.monotonic()
    num_done = 0

    def advance() -> None:
        nonlocal num_done, printed_at
        num_done += 1
        now = time.monotonic()
        if now - printed_at < SECONDS_BETWEEN_LINES:
            return
        printed_at = now
        rate = num_done / (now - started_at)
        seconds_left = (total - num_done) / rate
        click.echo(
            f"{what}: {num_done} of {total}, {rate:.2g}/s, {seconds_left:.0f} s left",
            file=sys.stderr,
        )

    return advance
