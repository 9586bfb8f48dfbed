"""Options that name files of examples and their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from headstart.apps.cli.options import packed
from headstart.apps.cli.values import COUNT_TYPE
from headstart.corpora.examples import PAIR_SEPARATOR, text_and_label_files
from headstart.corpora.hub import is_hub

if TYPE_CHECKING:
    from headstart.pipeline.examples import ExamplesConfig


@dataclass(frozen=True, kw_only=True)
class ExampleFiles:
    """The examples of a transfer, and how they are read."""

    train: str
    valid: str | None
    test: str | None
    size: int | None
    text_column: str | None
    label_column: str | None
    group: str | None
    skip_bad: bool

    def to_config(self, draw: int) -> ExamplesConfig:
        """Returns where the examples are, wherever a run is gone on with."""
        from headstart.pipeline.examples import ExamplesConfig

        return ExamplesConfig(
            train=absolute(self.train),
            valid=None if self.valid is None else absolute(self.valid),
            test=None if self.test is None else absolute(self.test),
            size=self.size,
            draw=draw,
            text_column=self.text_column,
            label_column=self.label_column,
            group_column=self.group,
            skips_bad=self.skip_bad,
        )


example_options = packed(
    "examples",
    ExampleFiles,
    click.option("--train", required=True, help="Examples to learn from: a table, or TEXT,LABELS."),
    click.option(
        "--valid", help="Examples to choose by.  [default: a part of the training examples]"
    ),
    click.option("--test", help="Examples to score on, once, at the end."),
    click.option(
        "--size", type=COUNT_TYPE, help="Learn from so many, labels in proportion.  [default: all]"
    ),
    click.option("--text-column", help="The column of a table that holds the text."),
    click.option("--label-column", help="The column of a table that holds the label."),
    click.option("--group", help="The column of what must not be torn apart, such as a film."),
    click.option("--skip-bad", is_flag=True, help="Skip what cannot be read, and count it."),
)


def absolute(name: str) -> str:
    """Returns the files of examples that a name stands for, wherever a run is gone on with."""
    if is_hub(name):
        return name
    paths = [path.resolve() for path in text_and_label_files(name) if path is not None]
    return PAIR_SEPARATOR.join(map(str, paths))
