"""Options that belong together reach a command as one typed value."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headstart.apps.cli.values import Whole

if TYPE_CHECKING:
    from headstart.pipeline.planning import Place

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


def packed(name: str, kind: type, *options: Decorator) -> Decorator:
    """Adds options named like the fields of `kind` and passes them as one argument `name`."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_one_value(**values: Any) -> None:
            given = {field.name: values.pop(field.name) for field in fields(kind)}
            command(**values, **{name: kind(**given)})

        decorated: Command = with_one_value
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """Where the work is done, and from which seed."""

    device: str
    num_threads: int | None
    seed: int

    def to_place(self, *, is_deterministic: bool) -> Place:
        """Returns where a run is done, on a device that is there."""
        from headstart.pipeline.planning import Place
        from headstart.pipeline.this_machine import choose_device

        return Place(
            device=choose_device(self.device),
            num_threads=self.num_threads,
            seed=self.seed,
            is_deterministic=is_deterministic,
        )


# More than any machine has cores; PyTorch takes any number, and dies of some.
THREADS = Whole(1, 1_024)

workplace_options = packed(
    "workplace",
    Workplace,
    click.option("--device", default="auto", show_default=True, help="cpu, cuda, or auto."),
    click.option("--threads", "num_threads", type=THREADS, help="Threads to use."),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of all draws."),
)


class NamedPath(click.Path):
    """A path that has a name: without one it would be the folder one happens to stand in."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Returns the path, or fails where its name is empty."""
        if not os.fspath(value):
            self.fail("The name is empty. Name a path; the folder you are in is '.'", param, ctx)
        return super().convert(value, param, ctx)


def folder_type() -> click.Path:
    """Returns the type of a folder to write into; a file in its place is refused at once."""
    return NamedPath(path_type=Path, file_okay=False)


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
