"""A comparison as it goes along: a line for each job that is done, with the time left."""

import click

from headstart.pipeline.sweep_timing import SweepProgress
from headstart.reports.numbers import show_duration


def show_sweep(seen: SweepProgress) -> None:
    """Prints how far a comparison is to the error stream."""
    click.echo(sweep_line(seen), err=True)


def sweep_line(seen: SweepProgress) -> str:
    """Returns how far a comparison is, in a line."""
    left = "" if seen.seconds_left is None else f", {show_duration(seen.seconds_left)} left"
    is_over = seen.num_done == seen.num_jobs
    return f"{seen.num_done} of {seen.num_jobs} jobs done{'' if is_over else left} ({seen.last})"
