"""A run as people type it: its folder, or the name of a trunk in the box."""

from pathlib import Path

import click

from headstart.apps.trunks.finding import find_run


class RunType(click.ParamType[Path]):
    """A run's folder, found by its path or by its name in the box."""

    name = "run"

    def convert(
        self, value: str | Path, _param: click.Parameter | None, _ctx: click.Context | None
    ) -> Path:
        """Returns the folder, or raises an error that lists the box."""
        return find_run(value)


RUN_TYPE = RunType()
