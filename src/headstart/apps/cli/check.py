"""The command `check`: the leak guard over train, valid, test and the pretraining text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headstart.apps.cli.options import folder_type, json_option, packed
from headstart.apps.cli.output import print_json, print_tables
from headstart.apps.cli.progress import shown_work
from headstart.apps.cli.reading import (
    ReadingOptions,
    echo_complaints,
    read_with_progress,
    reading_options,
)
from headstart.apps.cli.run_type import RUN_TYPE
from headstart.files import require_not_read

if TYPE_CHECKING:
    from headstart.corpora.leaks.report import LeakReport
    from headstart.pipeline.check import SketchFinding, Splits

EXAMPLES = """\b
Examples:
  headstart check --train train.csv --valid valid.csv --test test.csv
  headstart check --train reviews.spm,labels.txt --test test.csv --corpus "text/*.xz"
  headstart check --train train.csv --test test.csv --write-clean clean
"""


@dataclass(frozen=True, kw_only=True)
class CheckedFiles:
    """What is held against what."""

    train: str
    valid: str | None
    test: str | None
    corpus: tuple[str, ...]
    run: Path | None

    @property
    def splits(self) -> dict[str, str]:
        """The examples by what they are for, in the order in which they are used."""
        named = {"train": self.train, "valid": self.valid, "test": self.test}
        return {split: name for split, name in named.items() if name is not None}


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """The columns of tables of examples."""

    label_column: str | None
    group: str | None


file_options = packed(
    "files",
    CheckedFiles,
    click.option("--train", required=True, help="Examples to learn from: a table, or TEXT,LABELS."),
    click.option("--valid", help="Examples to choose settings on."),
    click.option("--test", help="Examples to score on."),
    click.option("--corpus", multiple=True, help="Pretraining text; may be given several times."),
    click.option("--from", "run", type=RUN_TYPE, help="A run: what did it read?"),
)
column_options = packed(
    "columns",
    ColumnOptions,
    click.option("--label-column", help="The column of a table that holds the label."),
    click.option("--group", help="The column of what must not be torn apart, such as a film."),
)


@click.command(epilog=EXAMPLES)
@file_options
@column_options
@reading_options
@click.option("--write-clean", type=folder_type(), help="Folder for cleaned splits.")
@json_option
def check(
    files: CheckedFiles,
    columns: ColumnOptions,
    reading: ReadingOptions,
    write_clean: Path | None,
    as_json: bool,
) -> None:
    """Look for leaks, copies, conflicts and oddities before anything is trained.

    A table has a text and a label column. Texts and labels may also stand in two files, one a
    line: named TEXT,LABELS, or side by side as NAME.txt and NAME.label. A data set of the Hugging
    Face hub is named hub:OWNER/NAME, with :SPLIT or :CONFIG:SPLIT behind it.
    """
    if write_clean is not None:
        check_folder(write_clean, files)
    splits, report = run_check(files, columns, reading)
    findings = check_sketch(splits, files.run)
    paths = written(splits, report, write_clean)
    if as_json:
        from headstart.reports.leak_json import leak_json

        print_json(
            leak_json(report)
            | {
                "from": [finding_json(finding) for finding in findings],
                "written": [str(path) for path in paths],
            }
        )
        return
    from headstart.reports.leak_tables import leak_tables

    print_tables(leak_tables(report))
    for finding in findings:
        click.echo(finding_sentence(finding))
    for path in paths:
        click.echo(f"Wrote {path}")


def check_folder(folder: Path, files: CheckedFiles) -> None:
    """Raises an error where cleaned splits would take the place of what is read."""
    from headstart.corpora.examples import text_and_label_files
    from headstart.corpora.sources import find_files
    from headstart.pipeline.check import clean_paths

    read = find_files(files.corpus) if files.corpus else []
    for name in files.splits.values():
        read += [path for path in text_and_label_files(name) if path is not None]
    require_not_read(clean_paths(files.splits, folder), read, f"--write-clean {folder}")


def run_check(
    files: CheckedFiles, columns: ColumnOptions, options: ReadingOptions
) -> tuple[Splits, LeakReport]:
    """Reads everything and runs the leak guard."""
    from headstart.corpora.examples import ExampleColumns
    from headstart.corpora.sources import find_files
    from headstart.pipeline.check import check as run
    from headstart.pipeline.check import read_splits

    reading = options.start()
    wanted = ExampleColumns(
        text=options.text_column, label=columns.label_column, group=columns.group
    )
    splits = read_splits(files.splits, reading, wanted)
    if files.corpus:
        paths = find_files(files.corpus)
        report = run(splits, read_with_progress(paths, reading, "Holding the corpus against it"))
    else:
        with shown_work("Comparing the splits"):
            report = run(splits, None)
    echo_complaints(reading)
    return splits, report


def check_sketch(splits: Splits, run: Path | None) -> tuple[SketchFinding, ...]:
    """Holds the splits against what a run has read, where one was named."""
    if run is None:
        return ()
    from headstart.pipeline.check import check_run

    return check_run(splits, run)


def written(splits: Splits, report: LeakReport, folder: Path | None) -> list[Path]:
    """Writes the cleaned splits where a folder for them was named."""
    if folder is None:
        return []
    from headstart.pipeline.check import write_clean

    return write_clean(splits, report, folder)


def finding_json(finding: SketchFinding) -> dict[str, object]:
    """Returns what a sketch says of a split, for programs."""
    return {
        "split": finding.split,
        "share": finding.overall.share,
        "sampled": finding.overall.num_sampled,
        "known": list(finding.known),
        "unjudged": finding.num_unjudged,
    }


def finding_sentence(finding: SketchFinding) -> str:
    """Says how much of a split a run has read."""
    share = finding.overall.share
    if share is None:
        return f"{finding.split}: too short for the run's sketch to say anything."
    return (
        f"{finding.split}: about {100 * share:.1f} % of its 8-grams were in the text of the run "
        f"({finding.overall.num_sampled:,} sampled); {len(finding.known):,} items at least half, "
        f"and {finding.num_unjudged:,} are too short to be judged one by one."
    )
