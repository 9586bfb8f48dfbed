"""A run as it goes along: a bar in a terminal, now and then a line in a pipe."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from headstart.apps.cli.closed_pipes import unbroken_streams
from headstart.apps.cli.progress import SECONDS_BETWEEN_LINES
from headstart.apps.cli.reading import read_with_progress
from headstart.apps.cli.stopping import Stopping
from headstart.pipeline.watch import StepProgress, Watch
from headstart.reports.numbers import show_count, show_duration

# A pipe is read later, or not at all; fewer lines than a screen would have.
SECONDS_BETWEEN_STEP_LINES = 5 * SECONDS_BETWEEN_LINES


@contextmanager
def watched(asked: Stopping) -> Iterator[Watch]:
    """Yields a watch that prints to the error stream, so that results stay alone on the other."""
    # Hours of learning do not end because nobody reads on.
    with unbroken_streams(), shown_steps() as show:
        yield Watch(
            say=lambda line: click.echo(line, err=True),
            read=read_with_progress,
            show=show,
            should_stop=asked,
        )


@contextmanager
def shown_steps() -> Iterator[Callable[[StepProgress], None]]:
    """Yields a function to call after each step."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield StepLines()
        return
    columns = (
        TextColumn("Step"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", visible=False)

        def show(seen: StepProgress) -> None:
            progress.update(
                task,
                total=seen.num_steps,
                completed=seen.step,
                description=details(seen),
                visible=True,
            )

        yield show


class StepLines:
    """Prints a plain line now and then, and one at the end."""

    def __init__(self) -> None:
        self.printed_at = time.monotonic()

    def __call__(self, seen: StepProgress) -> None:
        """Takes the progress after a step."""
        now = time.monotonic()
        if now - self.printed_at < SECONDS_BETWEEN_STEP_LINES and seen.step < seen.num_steps:
            return
        self.printed_at = now
        line = f"Step {seen.step:,} of {seen.num_steps:,}, {details(seen)}"
        click.echo(line, file=sys.stderr)


def details(seen: StepProgress) -> str:
    """Returns what is worth knowing of a step, in a few words."""
    return (
        f"loss {seen.loss:.3f}, {show_count(seen.tokens_per_second)} tokens/s, "
        f"{show_duration(seen.seconds_left)} left, "
        f"saved {show_duration(seen.seconds_since_checkpoint)} ago"
    )
