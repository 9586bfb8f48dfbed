"""A sweep as it goes along: a bar in a terminal, a line for each job in a pipe."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from headstart.pipeline.comparing.timing import SweepProgress
from headstart.reports.numbers import show_duration


@contextmanager
def shown_jobs() -> Iterator[Callable[[SweepProgress], None]]:
    """Yields a function to call after each job."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda seen: click.echo(
            f"Job {seen.num_done:,} of {seen.num_jobs:,}: {seen.last}{time_left(seen)}", err=True
        )
        return
    columns = (
        TextColumn("Job"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", visible=False)

        def show(seen: SweepProgress) -> None:
            progress.update(
                task,
                total=seen.num_jobs,
                completed=seen.num_done,
                description=f"{seen.last}{time_left(seen)}",
                visible=True,
            )

        yield show


def time_left(seen: SweepProgress) -> str:
    """Returns how long it will still take, as far as it is known."""
    left = seen.seconds_left
    return "" if left is None or seen.num_done == seen.num_jobs else f", {show_duration(left)} left"
