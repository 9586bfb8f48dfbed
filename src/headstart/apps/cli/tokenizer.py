"""The command `tokenizer`: learn one from text, or import a SentencePiece model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from headstart.apps.cli.interruption import interruptible
from headstart.apps.cli.options import folder_type, json_option, packed
from headstart.apps.cli.output import print_json, print_tables
from headstart.apps.cli.progress import shown_work
from headstart.apps.cli.reading import (
    ReadingOptions,
    echo_complaints,
    read_with_progress,
    reading_options,
)
from headstart.apps.cli.values import COUNT_TYPE
from headstart.corpora.documents import Reading, read_documents
from headstart.corpora.sources import find_files
from headstart.errors import RecipeError, TokenizerError
from headstart.files import check_writable

if TYPE_CHECKING:
    from headstart.tokenizers.learning import TokenizerKind
    from headstart.tokenizers.survival import Survival
    from headstart.tokenizers.tokenizer import Tokenizer

EXAMPLES = """\b
Examples:
  headstart tokenizer books.txt.xz reviews/ --size 8000 --out tokenizer
  headstart tokenizer --import french.model --dictionary dict.txt --out tokenizer
"""
# What has no meaning for a tokenizer that is imported.
LEARNING_OPTIONS = ("size", "kind")
FILE = click.Path(path_type=Path, dir_okay=False)


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a tokenizer comes from: learned at a size, or imported."""

    size: int
    kind: TokenizerKind
    seed: int
    model: Path | None
    dictionary: Path | None


origin_options = packed(
    "origin",
    Origin,
    click.option("--size", type=COUNT_TYPE, default=8_000, show_default=True, help="Pieces."),
    click.option(
        "--kind",
        type=click.Choice(["unigram", "bpe"]),
        default="unigram",
        show_default=True,
        help="How pieces are chosen.",
    ),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of the sample."),
    click.option("--import", "model", type=FILE, help="A SentencePiece model to import."),
    click.option("--dictionary", type=FILE, help="Its pieces with their counts, one a line."),
)


@click.command(epilog=EXAMPLES)
@click.argument("corpus", nargs=-1)
@origin_options
@click.option("--out", type=folder_type(), required=True, help="A folder without a tokenizer.")
@reading_options
@json_option
def tokenizer(
    corpus: tuple[str, ...], origin: Origin, out: Path, reading: ReadingOptions, as_json: bool
) -> None:
    """Learn a tokenizer from text, or import one.

    CORPUS is any number of files, folders and patterns: .txt, .jsonl, .csv, .tsv, .parquet, each
    also as .gz, .bz2, .xz or .zst; or hub:OWNER/NAME, a data set of the Hugging Face hub. An
    imported model keeps its dictionary's ids; text named with it is only tried.
    """
    check_origin(corpus, origin)
    check_writable(out)
    check_vacant(out)
    started = reading.start()
    try:
        made, seen = make(corpus, origin, out, started)
    finally:
        echo_complaints(started)
    show(made, seen, out, as_json=as_json)


def check_origin(corpus: tuple[str, ...], origin: Origin) -> None:
    """Raises an error unless there is text to learn from, or a model with its dictionary."""
    if (origin.model is None) != (origin.dictionary is None):
        missing = "--dictionary" if origin.dictionary is None else "--import"
        raise RecipeError(f"{missing} is missing; a model is imported with its dictionary.")
    if origin.model is not None and (
        given := [name for name in LEARNING_OPTIONS if is_given(name)]
    ):
        raise RecipeError(
            f"--{given[0]} says how a tokenizer is learned, but an imported one is taken as it is. "
            f"Leave out --{given[0]}, or --import."
        )
    if not corpus and origin.model is None:
        raise RecipeError("There is nothing to learn from. Name files, or use --import.")


def check_vacant(out: Path) -> None:
    """Raises an error where a tokenizer lies already, by which text may have been encoded."""
    from headstart.tokenizers.folder import DESCRIPTION_FILE

    if (out / DESCRIPTION_FILE).exists():
        raise TokenizerError(
            f"{out} holds a tokenizer already. Name another folder with --out, or remove it first."
        )


def is_given(name: str) -> bool:
    """Whether an option was typed, though its value be the usual one."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def make(
    corpus: tuple[str, ...], origin: Origin, out: Path, reading: Reading
) -> tuple[Tokenizer, Survival]:
    """Learns or imports the tokenizer."""
    from headstart.pipeline.tokenizer import bring_tokenizer, make_tokenizer, sample_lines
    from headstart.tokenizers.learning import TokenizerConfig

    paths = find_files(corpus) if corpus else []
    if origin.model is not None and origin.dictionary is not None:
        documents = read_documents(paths, reading)
        return bring_tokenizer(origin.model, origin.dictionary, documents, out)
    config = TokenizerConfig(size=origin.size, kind=origin.kind, seed=origin.seed)
    lines = sample_lines(read_with_progress(paths, reading, "Reading text"), config.seed)
    num_lines = f"{len(lines):,} {'line' if len(lines) == 1 else 'lines'}"
    with shown_work(f"Learning {config.size:,} pieces from {num_lines}"):
        return interruptible(lambda: make_tokenizer(lines, config, out))


def show(tokenizer: Tokenizer, seen: Survival, out: Path, *, as_json: bool) -> None:
    """Prints what the tokenizer is and what it loses."""
    from headstart.reports.tokenizer_report import tokenizer_json, tokenizer_table

    if as_json:
        print_json(tokenizer_json(tokenizer, seen) | {"folder": str(out)})
    else:
        print_tables([tokenizer_table(tokenizer, seen)])
        click.echo(f"Wrote {out}")
