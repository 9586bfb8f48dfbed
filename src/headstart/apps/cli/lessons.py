"""Options that name texts without labels, and the teachers who answer for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headstart.apps.cli.options import packed
from headstart.apps.cli.pretrain import absolute
from headstart.apps.cli.values import SIZE_TYPE, AtMost
from headstart.apps.trunks.finding import find_run
from headstart.transfers.config import MOST_LABELLED_WEIGHT

if TYPE_CHECKING:
    from headstart.pipeline.teaching import Teaching

TFIDF = "tfidf"


class TeacherType(click.ParamType[str | Path]):
    """A classifier's folder, or the word for one that is fitted on the spot."""

    name = "run"

    def convert(
        self, value: str | Path, _param: click.Parameter | None, _ctx: click.Context | None
    ) -> str | Path:
        """Returns the folder or the word, or raises an error for a folder that is no run."""
        return value if value == TFIDF else find_run(value).resolve()


@dataclass(frozen=True, kw_only=True)
class Lessons:
    """Texts without labels, who teaches what they are, and how much labels count beside them."""

    unlabelled: tuple[str, ...]
    teachers: tuple[str | Path, ...]
    most: int | None
    labelled_weight: float | None

    @property
    def is_given(self) -> bool:
        """Whether there is anything to be taught; an error where one of the two is missing."""
        if bool(self.unlabelled) != bool(self.teachers):
            missing, other = ("--teacher", "--unlabelled")[:: 1 if self.unlabelled else -1]
            raise click.UsageError(f"{other} needs {missing} beside it.")
        self.require_use()
        return bool(self.unlabelled)

    def require_use(self) -> None:
        """Fails where something is said about texts without labels, but none are named."""
        said = {"--unlabelled-most": self.most, "--labelled-weight": self.labelled_weight}
        idle = [name for name, value in said.items() if value is not None]
        if idle and not self.unlabelled:
            raise click.UsageError(
                f"{idle[0]!r} would change nothing without '--unlabelled'. Leave it out, or name "
                "texts without labels."
            )

    def to_teaching(self, seed: int, text_column: str | None) -> Teaching | None:
        """Returns what the options mean; nothing where none was given."""
        from headstart.pipeline.teaching import MOST_UNLABELLED, Teaching

        if not self.is_given:
            return None
        return Teaching(
            unlabelled=absolute(self.unlabelled),
            teachers=self.teachers,
            most=self.most or MOST_UNLABELLED,
            seed=seed,
            text_column=text_column,
        )


lesson_options = packed(
    "lessons",
    Lessons,
    click.option(
        "--unlabelled",
        multiple=True,
        help="Texts without labels to learn from too, as a corpus; may be given several times.",
    ),
    click.option(
        "--teacher",
        "teachers",
        type=TeacherType(),
        multiple=True,
        help="Who answers for them: a finished classifier, or tfidf. Each counts as "
        "much as validation finds it worth.",
    ),
    click.option(
        "--unlabelled-most",
        "most",
        type=SIZE_TYPE,
        help="Draw so many of these texts where there are more.  [default: 25,000]",
    ),
    click.option(
        "--labelled-weight",
        type=AtMost(MOST_LABELLED_WEIGHT),
        help="As how many of these texts one with a label counts.  [default: 1]",
    ),
)
