"""The command `embed`: texts to vectors, and the nearest uses of a word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from headstart.apps.cli.options import NamedPath, json_option, packed
from headstart.apps.cli.output import print_json
from headstart.apps.cli.reading import (
    ReadingOptions,
    echo_complaints,
    read_with_progress,
    reading_options,
)
from headstart.apps.cli.using import Place, open_run, place_options, run_argument
from headstart.corpora.documents import Document
from headstart.corpora.sources import find_files
from headstart.errors import RecipeError
from headstart.files import require_not_read
from headstart.models.heads.config import Pooling

if TYPE_CHECKING:
    from headstart.pipeline.embed import Use
    from headstart.pipeline.neighbours import Neighbourhood
    from headstart.pipeline.run_folder import Run

EXAMPLES = """\b
Examples:
  headstart embed RUN --file reviews.txt --out vectors.npy
  headstart embed RUN --file reviews.csv --what texts --out texts.npy
  headstart embed RUN --file reviews.txt --neighbours avocat
"""
# Uses that are shown to a person; programs get all.
NUM_USES_SHOWN = 10
NUM_LETTERS_AROUND = 30


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What vectors are made of, and where they go."""

    what: str
    pooling: Pooling | None
    out: Path | None
    neighbours: str | None
    count: int


wanted_options = packed(
    "wanted",
    Wanted,
    click.option(
        "--what",
        type=click.Choice(["words", "texts"]),
        default="words",
        show_default=True,
        help="A vector for each word where it stands, or for each text.",
    ),
    click.option(
        "--pooling",
        type=click.Choice(get_args(Pooling)),
        help="How a text becomes one vector.  [default: the run's]",
    ),
    click.option("--out", type=NamedPath(path_type=Path), help="The .npy to write."),
    click.option("--neighbours", help="Show the uses of this word, each with its nearest ones."),
    click.option(
        "--count",
        type=click.IntRange(min=1),
        default=3,
        show_default=True,
        help="How many nearest uses to show.",
    ),
)


@click.command(epilog=EXAMPLES)
@run_argument
@click.option("--file", required=True, help="The texts.")
@wanted_options
@reading_options
@place_options
@json_option
def embed(
    run: Path,
    file: str,
    wanted: Wanted,
    reading: ReadingOptions,
    place: Place,
    as_json: bool,
) -> None:
    """Turn texts into vectors.

    The vectors go into a .npy, one a row; the .jsonl beside it says which text and which of its
    characters each row belongs to. A file of any size is read in a small memory. Words are what
    stands between spaces; --neighbours leaves out the signs around them, and their capitals.
    """
    check_wanted(wanted)
    texts = Texts(find_files([file]), reading)
    check_out(wanted.out, texts.paths)
    opened = open_run(run, place.device, place.num_threads)
    report: dict[str, object] = {}
    if wanted.out is not None:
        num_rows, width = write(opened, texts, wanted, wanted.out)
        report |= {"vectors": str(wanted.out), "rows": num_rows, "width": width}
        if not as_json:
            click.echo(f"Wrote {wanted.out}: {num_rows:,} vectors of {width:,} numbers")
    if wanted.neighbours is not None:
        found = find_neighbours(opened, texts, wanted.neighbours, wanted.count)
        report |= neighbourhood_json(found)
        if not as_json:
            show_neighbours(found)
    if as_json:
        print_json(report)


def check_wanted(wanted: Wanted) -> None:
    """Raises an error where nothing is wanted, or something that does not go together."""
    if wanted.out is None and wanted.neighbours is None:
        raise RecipeError("There is nothing to do. Name --out, --neighbours, or both.")
    if wanted.pooling is not None and wanted.what != "texts":
        raise RecipeError("--pooling is for texts; words need none. Add --what texts.")


def check_out(path: Path | None, read: list[Path]) -> None:
    """Raises an error where no vectors could be written to a name, or over what is read."""
    from headstart.pipeline.vector_file import rows_path

    if path is not None:
        require_not_read((path, rows_path(path)), read, f"--out {path}")


@dataclass(frozen=True)
class Texts:
    """Texts that can be read again and again."""

    paths: list[Path]
    options: ReadingOptions

    def read(self, what: str) -> Iterator[Document]:
        """Yields the texts with progress, and says at the end what was skipped."""
        reading = self.options.start()
        yield from read_with_progress(self.paths, reading, what)
        echo_complaints(reading)

    def count(self) -> Iterator[Document]:
        """Yields the texts with progress, and leaves complaints to the time they are read."""
        return read_with_progress(self.paths, self.options.start(), "Counting words")


def write(run: Run, texts: Texts, wanted: Wanted, path: Path) -> tuple[int, int]:
    """Writes the vectors, and returns how many there are and how wide."""
    from headstart.pipeline.embed import passages, write_texts, write_words

    counted = passages(run, texts.count())
    parts = passages(run, texts.read("Reading texts"))
    if wanted.what == "words":
        num_rows = write_words(run, counted, parts, path)
    else:
        pooling = wanted.pooling or run.recipe.pooling
        num_rows = write_texts(run, counted, parts, path, pooling)
    return num_rows, run.model.trunk.config.width


def find_neighbours(run: Run, texts: Texts, word: str, count: int) -> Neighbourhood:
    """Returns the uses of a word with those nearest to each."""
    from headstart.pipeline.embed import passages
    from headstart.pipeline.neighbours import neighbours

    return neighbours(run, passages(run, texts.read("Looking for the word")), word, count)


def neighbourhood_json(found: Neighbourhood) -> dict[str, object]:
    """Returns the uses of a word for programs."""
    from headstart.pipeline.embed import owner_of

    def owner(use: Use) -> dict[str, object]:
        return dict(owner_of(use.passage, use.word.begin, use.word.end)) | {"context": context(use)}

    uses = [
        owner(one.use)
        | {"nearest": [owner(like.use) | {"cosine": like.cosine} for like in one.nearest]}
        for one in found.uses
    ]
    return {"word": found.word, "num_uses": found.num_uses, "uses": uses}


def show_neighbours(found: Neighbourhood) -> None:
    """Prints the first uses of a word, each above its nearest."""
    for one in found.uses[:NUM_USES_SHOWN]:
        click.echo(f"         {context(one.use)}  ({one.use.passage.place})")
        for like in one.nearest:
            click.echo(f"  {like.cosine:5.2f}  {context(like.use)}  ({like.use.passage.place})")
        click.echo()
    num_shown = min(NUM_USES_SHOWN, len(found.uses))
    click.echo(
        f"{num_shown:,} of {found.num_uses:,} uses of {found.word!r} are shown, each above those "
        "most like it by the cosine of their vectors; --json gives more."
    )


def context(use: Use) -> str:
    """Returns a use with a little of what stands around it."""
    text, word = use.passage.text, use.word
    before = text[max(0, word.begin - NUM_LETTERS_AROUND) : word.begin]
    behind = text[word.end : word.end + NUM_LETTERS_AROUND]
    return " ".join(f"{before:>{NUM_LETTERS_AROUND}}[{use.text}]{behind}".split())
