"""The command `translate`: a text, or each line of a file, in the language a run has learned."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headstart.apps.cli.options import Workplace, packed, workplace_options
from headstart.apps.cli.progress import shown_progress, shown_work
from headstart.apps.cli.using import (
    STANDARD_INPUT,
    given_text,
    prepared_device,
    run_argument,
    standard_input,
)
from headstart.apps.cli.values import BEAM_TYPE, COUNT_TYPE, NUMBER_TYPE
from headstart.corpora.compression import Meter
from headstart.corpora.lines import read_lines
from headstart.corpora.places import Complaints
from headstart.corpora.sources import find_files
from headstart.errors import DataError, RecipeError
from headstart.files import check_writable
from headstart.pipeline.translating.translation_settings import TranslationSettings

if TYPE_CHECKING:
    from headstart.pipeline.run_folder import Run
    from headstart.pipeline.translate import Translation

EXAMPLES = """\b
Examples:
  headstart translate RUN "Two dogs play in the snow."
  headstart translate RUN "Two dogs play in the snow." --best 4
  headstart translate RUN --file test.en --beam 4 > test.de
  cat test.en | headstart translate RUN - --strategy greedy
"""
USUAL = TranslationSettings()


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which texts are translated, and whether the way there is shown."""

    texts: tuple[str, ...]
    file: str | None
    explain: Path | None


@dataclass(frozen=True, kw_only=True)
class Writing:
    """How translations are written; what is left out has a default where it applies."""

    strategy: str
    beam: int | None
    length_penalty: float | None
    best: int | None
    prefix: str
    most_pieces: int | None
    copy_unknown: bool
    temperature: float | None
    top_k: int | None
    top_p: float | None


wanted_options = packed(
    "wanted",
    Wanted,
    click.argument("texts", metavar="[TEXT]...", nargs=-1),
    click.option("--file", help="A file with a text on each line instead, of any size."),
    click.option(
        "--explain",
        type=click.Path(path_type=Path, dir_okay=False),
        help="The .html to write: what was looked at to translate one text.",
    ),
)
writing_options = packed(
    "writing",
    Writing,
    click.option(
        "--strategy",
        type=click.Choice(["beam", "greedy", "sample"]),
        default=USUAL.strategy,
        show_default=True,
        help="Search, take the likeliest piece each time, or draw pieces.",
    ),
    click.option(
        "--beam", type=BEAM_TYPE, help=f"Beginnings that a beam keeps.  [default: {USUAL.beam}]"
    ),
    click.option(
        "--length-penalty",
        type=NUMBER_TYPE,
        help="A beam ranks by log p / length ** this: above 0 long texts gain.  "
        f"[default: {USUAL.length_penalty:g}]",
    ),
    click.option("--best", type=int, help="Show so many of a beam's translations, with scores."),
    click.option("--prefix", default="", help="What every translation begins with."),
    click.option(
        "--most-pieces",
        type=COUNT_TYPE,
        help="The most new pieces.  [default: twice the text's and 20]",
    ),
    click.option(
        "--copy-unknown",
        is_flag=True,
        help="Copy a word that has no piece from the most-attended word of the text.",
    ),
    click.option(
        "--temperature", type=NUMBER_TYPE, help="Of draws; below 1 the likely gets likelier."
    ),
    click.option("--top-k", type=int, help="Draw from so many of the likeliest."),
    click.option("--top-p", type=NUMBER_TYPE, help="Draw from the likeliest that have this share."),
)


@click.command(epilog=EXAMPLES)
@run_argument
@wanted_options
@writing_options
@workplace_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def translate(
    run: Path, wanted: Wanted, writing: Writing, workplace: Workplace, as_json: bool
) -> None:
    """Print the translation of each TEXT, or of each line of a file.

    A dash reads texts from standard input, one a line. There is one line for each text, in their
    order; a blank one stays blank.
    """
    check_wanted(wanted)
    how = settings_of(writing, workplace.seed)
    if wanted.explain is not None and how.strategy == "beam":
        # A page shows all that a beam has kept.
        how = replace(how, num_best=max(how.num_best, how.beam))
    texts = wanted_texts(wanted)
    from headstart.pipeline.translate import load_translator, translate_texts

    opened = load_translator(run, prepared_device(workplace.device, workplace.num_threads))
    total = len(texts) if isinstance(texts, list) else None
    with shown_progress("Translating texts", total) as advance:
        found = translate_texts(opened, texts, how, advance)
        last = show(found, writing, as_json=as_json)
    if wanted.explain is not None and last is not None:
        write_explanation(opened, last, wanted.explain)


def check_wanted(wanted: Wanted) -> None:
    """Raises an error, before anything is loaded, for what does not go together or has no place."""
    if bool(wanted.texts) == (wanted.file is not None):
        what = "There are texts and a --file" if wanted.texts else "There is no text"
        raise RecipeError(f"{what}. Give one text or several, or name a file with --file.")
    if STANDARD_INPUT in wanted.texts and len(wanted.texts) > 1:
        raise RecipeError(
            f"Standard input ({STANDARD_INPUT}) was given beside other texts. Give one or the "
            "other."
        )
    if wanted.explain is None:
        return
    if len(wanted.texts) != 1 or wanted.texts[0] == STANDARD_INPUT:
        num_texts = f"{len(wanted.texts)} texts" if len(wanted.texts) > 1 else "a file"
        raise RecipeError(f"--explain is for one text, but was given {num_texts}. Give one TEXT.")
    if wanted.explain.suffix.lower() not in {".html", ".htm"}:
        raise RecipeError(f"Pages are written as .html, not as {wanted.explain}. Name a .html.")
    check_writable(wanted.explain.parent)


def settings_of(writing: Writing, seed: int) -> TranslationSettings:
    """Returns how to translate, or says which options do not go together."""
    of_strategy = {
        "beam": ("beam", "length_penalty", "best"),
        "sample": ("temperature", "top_k", "top_p"),
    }
    given = {name: value for name, value in vars(writing).items() if value is not None}
    for strategy, names in of_strategy.items():
        idle = [f"--{name.replace('_', '-')}" for name in names if name in given]
        if idle and writing.strategy != strategy:
            raise RecipeError(
                f"{', '.join(idle)} would change nothing with --strategy {writing.strategy}. Leave "
                f"it out, or choose --strategy {strategy}."
            )
    if "best" in given:
        given["num_best"] = given.pop("best")
    copies_unknown = given.pop("copy_unknown")
    return TranslationSettings(**given, copies_unknown=copies_unknown, seed=seed)


def wanted_texts(wanted: Wanted) -> list[str] | Iterator[str]:
    """Returns the texts as they were given, or as they will be read."""
    if wanted.texts == (STANDARD_INPUT,):
        return incoming_lines()
    if wanted.file is None:
        return [given_text(text) for text in wanted.texts]
    paths = find_files([wanted.file])
    if len(paths) > 1:
        raise RecipeError(
            f"{wanted.file} stands for {len(paths)} files, but there is one line for each text. "
            f"Name one file, such as {paths[0]}."
        )
    complaints = Complaints(skips_bad=False, can_skip=False)
    return (line for _, line in read_lines(paths[0], Meter(), complaints))


def incoming_lines() -> Iterator[str]:
    """Yields the lines of standard input as they come."""
    for number, raw in enumerate(standard_input(), start=1):
        try:
            yield raw.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DataError(
                f"Line {number} of what came in is not UTF-8. Convert it, such as with iconv."
            ) from error


def show(found: Iterable[Translation], writing: Writing, *, as_json: bool) -> Translation | None:
    """Prints translations as they come, and returns the last of them."""
    one = None
    for number, one in enumerate(found, start=1):
        if as_json:
            click.echo(json.dumps({"line": number, **asdict(one)}, allow_nan=False))
        elif writing.best is None:
            # One line for each text, whatever it says.
            click.echo(" ".join(one.text.splitlines()))
        else:
            lines = [f"{each.score:9.4f}  {each.text}" for each in one.alternatives[: writing.best]]
            click.echo("\n".join([f"{number}: {one.source}", *lines]))
        for note in one.notes:
            click.echo(f"Text {number} was {note}.", err=True)
    return one


def write_explanation(opened: Run, found: Translation, path: Path) -> None:
    """Writes what was looked at to translate a text as a page."""
    from headstart.pipeline.explain_translation import write_translation_page

    with shown_work("Explaining the translation"):
        write_translation_page(opened, found, path)
    # On the error stream: what a program reads stays one object a line.
    click.echo(f"Wrote {path}: what was looked at", err=True)
