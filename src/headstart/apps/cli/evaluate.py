"""The command `evaluate`: score any run on any data."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headstart.apps.cli.options import json_option
from headstart.apps.cli.output import print_json, print_tables
from headstart.apps.cli.pair_test import (
    PairOptions,
    pair_test_options,
    refuse_pairs,
    show_translation,
)
from headstart.apps.cli.pretrain import FOLDER, absolute
from headstart.apps.cli.progress import shown_work
from headstart.apps.cli.reading import (
    ReadingOptions,
    echo_complaints,
    read_with_progress,
    reading_options,
)
from headstart.apps.cli.using import (
    Place,
    open_classifier,
    open_run,
    place_options,
    run_argument,
)
from headstart.errors import RunError
from headstart.pipeline.run_files import read_recipe

if TYPE_CHECKING:
    from headstart.pipeline.evaluate import LanguageEvaluation

EXAMPLES = """\b
Examples:
  headstart evaluate runs/reviews --test other.txt
  headstart evaluate runs/lab --test other.txt --figures figures
  headstart evaluate runs/classifier --test test.csv
  headstart evaluate runs/en-de --source test.en --target test.de --against runs/other
"""


@click.command(epilog=EXAMPLES)
@run_argument
@click.option(
    "--test",
    multiple=True,
    help="Text, examples for a classifier, or tables of pairs; may be given several times.",
)
@pair_test_options
@click.option("--figures", type=FOLDER, help="Folder for the loss by position, as PNG and SVG.")
@place_options
@reading_options
@click.option("--label-column", help="The column of a table that holds the label.")
@json_option
def evaluate(
    run: Path,
    test: tuple[str, ...],
    pairs: PairOptions,
    figures: Path | None,
    place: Place,
    reading: ReadingOptions,
    label_column: str | None,
    as_json: bool,
) -> None:
    """Score a run on text, examples or pairs it has not learned from.

    A language model: loss, perplexity and bits for each byte, over the whole vocabulary; then the
    loss by position, in texts of one, two and four times the trained length, where the trunk's
    positions reach.

    A classifier: accuracy with its interval, macro-F1, calibration and confusion, on the full test
    and on the clean one, without what the run or its trunk has seen before.

    A translator: BLEU and chrF by sacreBLEU with their signatures and intervals, and the loss; with
    --against, how far it is from another on the same sentences.
    """
    task = read_recipe(run).task
    if figures is not None and task != "language-model":
        kind = "classifier" if task == "classification" else "translator"
        raise RunError(f"{run} is a {kind}, which has no loss by position. Leave --figures out.")
    if task == "translation":
        show_translation(run, test, pairs, place, reading, as_json)
        return
    refuse_pairs(run, pairs)
    if not test:
        raise click.UsageError("Missing option '--test'.")
    if task == "language-model":
        show_language(run, scored(run, test, place, reading), figures, as_json=as_json)
    else:
        show_labels(run, test, place, reading, label_column, as_json)


def show_labels(
    run: Path,
    test: tuple[str, ...],
    place: Place,
    reading: ReadingOptions,
    label_column: str | None,
    as_json: bool,
) -> None:
    """Scores a classifier, and shows what it is worth."""
    from headstart.corpora.examples import ExampleColumns
    from headstart.pipeline.evaluate_labels import evaluate_labels, read_test

    classifier = open_classifier(run, place)
    read = reading.start()
    columns = ExampleColumns(text=reading.text_column, label=label_column)
    examples = read_test(test, read, columns)
    with shown_work(f"Scoring {len(examples):,} examples"):
        found = evaluate_labels(classifier, examples)
    echo_complaints(read)
    if as_json:
        print_json({"run": str(run), "labels": list(classifier.labels), "test": found})
        return
    from headstart.reports.label_tables import evaluation_tables

    print_tables(evaluation_tables(run, found, classifier.labels))


def show_language(
    run: Path, seen: LanguageEvaluation, figures: Path | None, *, as_json: bool
) -> None:
    """Shows what a language model is worth."""
    paths = []
    if figures is not None:
        from headstart.pipeline.evaluate import write_position_figure

        paths = write_position_figure(seen, f"Loss by position, {run}", figures)
    if as_json:
        extra = {"perplexity": seen.scores.perplexity, "figures": [str(path) for path in paths]}
        print_json(asdict(seen) | extra)
        return
    from headstart.reports.run_tables import language_tables

    print_tables(language_tables(asdict(seen), seen.scores.perplexity))
    for path in paths:
        click.echo(f"Wrote {path}")


def scored(
    run: Path, test: tuple[str, ...], place: Place, reading: ReadingOptions
) -> LanguageEvaluation:
    """Loads the run and scores it."""
    import torch

    from headstart.pipeline.corpus_stores import CorpusConfig
    from headstart.pipeline.evaluate import evaluate_language
    from headstart.pipeline.this_machine import choose_device
    from headstart.pipeline.watch import Watch

    opened = open_run(run, place.device, place.num_threads)
    text = CorpusConfig(
        corpus=absolute(test),
        documents=reading.documents,
        text_column=reading.text_column,
        skips_bad=reading.skip_bad,
    )
    watch = Watch(say=lambda line: click.echo(line, err=True), read=read_with_progress)
    device, num_threads = choose_device(place.device), torch.get_num_threads()
    return evaluate_language(opened, text, device, num_threads, watch)
