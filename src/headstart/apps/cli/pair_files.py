"""Options that name files of pairs, and say which pairs are left out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headstart.apps.cli.options import packed
from headstart.apps.cli.values import SIZE_TYPE
from headstart.corpora.presence import require_present, require_regular, require_text

if TYPE_CHECKING:
    from headstart.pipeline.translating.pairs import PairsConfig

FILE = click.Path(path_type=Path)


@dataclass(frozen=True, kw_only=True)
class PairFiles:
    """The pairs of a translator, and how they are read."""

    source: Path
    target: Path
    valid_source: Path | None
    valid_target: Path | None
    most_pieces: int | None
    longest_ratio: float
    skip_bad: bool

    def require_files(self) -> None:
        """Raises an error for the first file that is not there, or cannot be read twice."""
        options = {
            "--source": self.source,
            "--target": self.target,
            "--valid-source": self.valid_source,
            "--valid-target": self.valid_target,
        }
        for option, path in options.items():
            if path is not None:
                require_present(path, f"Name one with {option} that has a text on each line")
                require_regular(path)
                require_text(path)

    def to_config(self, draw: int) -> PairsConfig:
        """Returns where the pairs are, wherever a run is gone on with."""
        from headstart.pipeline.translating.pairs import PairsConfig

        return PairsConfig(
            source=str(self.source.resolve()),
            target=str(self.target.resolve()),
            valid_source=None if self.valid_source is None else str(self.valid_source.resolve()),
            valid_target=None if self.valid_target is None else str(self.valid_target.resolve()),
            draw=draw,
            most_pieces=self.most_pieces,
            longest_ratio=self.longest_ratio,
            skips_bad=self.skip_bad,
        )


pair_options = packed(
    "pairs",
    PairFiles,
    click.option("--source", type=FILE, required=True, help="The texts to translate, one a line."),
    click.option("--target", type=FILE, required=True, help="Their translations, line by line."),
    click.option(
        "--valid-source", type=FILE, help="Texts to choose by.  [default: some of the pairs]"
    ),
    click.option("--valid-target", type=FILE, help="Their translations."),
    click.option(
        "--most-pieces",
        type=SIZE_TYPE,
        help="Leave out longer texts.  [default: what the positions allow]",
    ),
    click.option(
        "--longest-ratio",
        type=click.FloatRange(min=1),
        default=9.0,
        show_default=True,
        help="Leave out pairs of which a side is so many times as long as the other.",
    ),
    click.option("--skip-bad", is_flag=True, help="Skip what cannot be read, and count it."),
)
