"""The command `predict`: the label of a text, or of each text of a file, with its probability."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from headstart import __version__
from headstart.apps.cli.options import packed
from headstart.apps.cli.progress import shown_work
from headstart.apps.cli.reading import (
    ReadingOptions,
    echo_complaints,
    read_with_progress,
    reading_options,
)
from headstart.apps.cli.stopping import tidied
from headstart.apps.cli.using import (
    STANDARD_INPUT,
    Place,
    given_text,
    open_classifier,
    place_options,
    run_argument,
)
from headstart.corpora.documents import Document
from headstart.corpora.places import Place as TextPlace
from headstart.corpora.sources import find_files
from headstart.errors import DataError, RecipeError
from headstart.files import check_writable, require_not_read, write_bytes
from headstart.training.config import Precision

if TYPE_CHECKING:
    from headstart.pipeline.classifier import Classifier
    from headstart.pipeline.predict import Prediction

EXAMPLES = """\b
Examples:
  headstart predict RUN "a film to remember"
  headstart predict RUN --file reviews.csv --out labels.csv
  headstart predict RUN --file millions.txt.gz --out labels.csv --precision bf16
  headstart predict RUN "a film to remember" --explain page.html
"""
# What is shown to a person of a text beside its label.
NUM_LETTERS_SHOWN = 60


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which texts are labelled, and where the answers go."""

    texts: tuple[str, ...]
    file: str | None
    out: Path | None
    explain: Path | None
    precision: Precision


wanted_options = packed(
    "wanted",
    Wanted,
    click.argument("texts", metavar="[TEXT]...", nargs=-1),
    click.option("--file", help="A file of texts instead, of any size."),
    click.option(
        "--out",
        type=click.Path(path_type=Path, dir_okay=False),
        help="The .csv to write: the line of each text, its label, and all probabilities.",
    ),
    click.option(
        "--explain",
        type=click.Path(path_type=Path, dir_okay=False),
        help="The .html to write: what of one text carried the decision.",
    ),
    click.option(
        "--precision",
        type=click.Choice(get_args(Precision)),
        default="fp32",
        show_default=True,
        help="Of products: bf16 labels many texts faster on what is made for it, and rounds more.",
    ),
)


@click.command(epilog=EXAMPLES)
@run_argument
@wanted_options
@reading_options
@place_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def predict(
    run: Path, wanted: Wanted, reading: ReadingOptions, place: Place, as_json: bool
) -> None:
    """Print the label of each TEXT, or of each text of a file, with its probability.

    A dash reads the text from standard input. A file may be of any kind and size: each line of a
    .txt, or the text column of a table; lines without text are left out.
    """
    check_wanted(wanted)
    texts = [given_text(text) for text in wanted.texts]
    is_file = wanted.file is not None
    documents = file_documents(wanted, reading) if is_file else text_documents(texts)
    classifier = open_classifier(run, place, wanted.precision)
    from headstart.pipeline.predict import predictions, write_predictions

    found = predictions(classifier, documents)
    if wanted.out is not None:
        with tidied():
            num_texts = write_predictions(wanted.out, classifier.labels, found)
        report_table(wanted.out, num_texts, as_json=as_json)
    else:
        show(found, classifier, as_json=as_json)
    if wanted.explain is not None:
        write_explanation(classifier, texts[0], wanted.explain)


def check_wanted(wanted: Wanted) -> None:
    """Raises an error, before anything is loaded, for what does not go together or has no place."""
    if bool(wanted.texts) == (wanted.file is not None):
        what = "There are texts and a --file" if wanted.texts else "There is no text"
        raise RecipeError(f"{what}. Give one text or several, or name a file with --file.")
    if wanted.texts.count(STANDARD_INPUT) > 1:
        raise RecipeError(f"Standard input ({STANDARD_INPUT}) can be read once. Name it once.")
    if wanted.explain is not None:
        check_explained(wanted, wanted.explain)
    if wanted.out is not None and wanted.out.suffix.lower() != ".csv":
        raise RecipeError(
            f"Labels are written as .csv, not as {str(wanted.out)!r}. Name a .csv file."
        )
    for path in (wanted.out, wanted.explain):
        if path is not None:
            check_writable(path.parent)


def check_explained(wanted: Wanted, page: Path) -> None:
    """Raises an error for what cannot be explained, or not on such a page."""
    if len(wanted.texts) != 1:
        num_texts = f"{len(wanted.texts)} texts" if wanted.texts else "a file"
        raise RecipeError(f"--explain is for one text, but was given {num_texts}. Give one TEXT.")
    if page.suffix.lower() not in {".html", ".htm"}:
        raise RecipeError(f"Pages are written as .html, not as {page}. Name a .html.")
    if wanted.precision != "fp32":
        raise RecipeError(
            f"--explain adds up in single precision, but --precision is {wanted.precision}. Leave "
            "one out."
        )


def text_documents(texts: list[str]) -> Iterator[Document]:
    """Yields texts that were given one by one, numbered as lines are."""
    for number, text in enumerate(texts, start=1):
        yield Document(text, TextPlace(Path("TEXT"), number))


def file_documents(wanted: Wanted, options: ReadingOptions) -> Iterator[Document]:
    """Returns the texts of a file with progress; a file that cannot be used is refused at once."""
    assert wanted.file is not None
    paths = find_files([wanted.file])
    if len(paths) > 1:
        raise RecipeError(
            f"{wanted.file} stands for {len(paths)} files, but lines are told apart by their "
            f"number alone. Name one file, such as {paths[0]}."
        )
    if wanted.out is not None:
        require_not_read([wanted.out], paths, f"--out {wanted.out}")
    return read(paths, options)


def read(paths: list[Path], options: ReadingOptions) -> Iterator[Document]:
    """Yields the texts of a file with progress, and says at the end what was skipped.

    Where nothing is left, that is an error: a program would take it for an answer.
    """
    reading = options.start()
    num_texts = 0
    for document in read_with_progress(paths, reading, "Labelling texts"):
        num_texts += 1
        yield document
    echo_complaints(reading)
    if not num_texts and reading.complaints.counts:
        raise DataError(
            f"{paths[0]} holds no text that can be read: every row of it was skipped. Mend it, or "
            "name another file."
        )


def show(found: Iterable[Prediction], classifier: Classifier, *, as_json: bool) -> None:
    """Prints a line for each text as it comes."""
    width = max(map(len, classifier.labels))
    for one in found:
        if as_json:
            click.echo(json.dumps(prediction_json(one), allow_nan=False))
        else:
            text = shortened(one.document.plain)
            click.echo(f"{one.label:<{width}}  {100 * one.probability:5.1f} %  {text}".rstrip())


def prediction_json(one: Prediction) -> dict[str, object]:
    """Returns the answer about a text for programs."""
    return {
        "line": one.document.place.line,
        "label": one.label,
        "probability": one.probability,
        "probabilities": one.probabilities,
    }


def write_explanation(classifier: Classifier, text: str, path: Path) -> None:
    """Writes what carried the decision about a text as a page, and says how well it adds up."""
    from headstart.pipeline.explain import explain
    from headstart.reports.explanation_page import explanation_page
    from headstart.reports.page import page_html

    with shown_work("Explaining the decision"):
        explanation = explain(classifier, text)
    write_bytes(path, page_html(explanation_page(explanation, __version__)).encode())
    # On the error stream: what a program reads stays one object a line.
    gap = f"{100 * explanation.account.gap:.2g} %"
    click.echo(f"Wrote {path}: what carried the decision (completeness gap {gap})", err=True)


def report_table(path: Path, num_texts: dict[str, int], *, as_json: bool) -> None:
    """Prints where the table is, and how many texts have each label."""
    if as_json:
        report = {"out": str(path), "num_texts": sum(num_texts.values()), "labels": num_texts}
        click.echo(json.dumps(report))
        return
    counts = ", ".join(f"{count:,} {label}" for label, count in num_texts.items())
    total = sum(num_texts.values())
    click.echo(f"Wrote {path}: {total:,} {'text' if total == 1 else 'texts'} ({counts})")


def shortened(text: str) -> str:
    """Returns the beginning of a text on one line."""
    line = " ".join(text[: 4 * NUM_LETTERS_SHOWN].split())
    return line if len(line) <= NUM_LETTERS_SHOWN else f"{line[:NUM_LETTERS_SHOWN].rstrip()}…"
