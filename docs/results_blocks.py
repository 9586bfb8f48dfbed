"""The blocks and figures of results.md, each from the newest record of its study.

A study is found in benchmarks/studies; what has no record yet says so, and the page can be built
step by step. `generate.py` puts the folder of records on the path before it imports this.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from comparison_blocks import best_sentences, compared, facts_of, runs_table, size_table
from few_labels_block import few_labels, seed_figure, settings_table
from matplotlib.figure import Figure
from page_parts import block_of, done_for, markdown, provenance, records_of

from headstart.files import write_bytes
from headstart.reports.comparison.reading import comparison_of
from headstart.reports.comparison.record import Comparison
from headstart.reports.comparison_tables import which_tests
from headstart.reports.figures import accuracy_by_labels, by_trunk, differences, learning_curves
from headstart.reports.figures.style import FORMATS, render
from headstart.reports.table import Table

Record = Mapping[str, Any]
STUDIES = (
    "documents",
    "strong",
    "every-way",
    "objectives",
    "imdb",
    "topics-and-spam",
    "few-labels",
)
DRAWN: Mapping[str, Callable[[Comparison], Figure | None]] = {
    "curves": learning_curves.draw,
    "accuracy-by-labels": accuracy_by_labels.draw,
    "differences": differences.draw,
    "by-trunk": by_trunk.draw,
}
# The figures of each study that say something its table does not.
FIGURES_OF: Mapping[str, tuple[str, ...]] = {
    "documents": ("curves", "differences"),
    "strong": ("accuracy-by-labels", "differences"),
    "every-way": ("differences",),
    "objectives": ("by-trunk",),
    "imdb": ("accuracy-by-labels",),
    "topics-and-spam": ("accuracy-by-labels",),
}
CAPTIONS = {
    "curves": "Accuracy on validation after each epoch, with bands over seeds",
    "accuracy-by-labels": "Accuracy by the number of labels, with intervals",
    "differences": "Differences in accuracy, with intervals",
    "by-trunk": "Accuracy of every trunk in every way of learning, with intervals",
    "seeds": "The accuracy of every seed",
}


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A figure, the name of its file, and what it shows."""

    name: str
    caption: str
    figure: Figure


def block(study: str) -> str:
    """Returns what a study found, or that there is nothing yet."""
    return block_of(study, partial(study_block, study))


def study_block(study: str, record: Record) -> str:
    """Returns a study's answer, tables, figures and commands."""
    parts = list(few_labels(record) if study == "few-labels" else compared(study, record))
    parts += [f"![{each.caption}](figures/{each.name}.svg)" for each in drawings(study, record)]
    if record.get("runs"):
        parts.append(markdown(runs_table(record["runs"])))
    parts.append(done_for(record, study.replace("-", "_")))
    return "\n\n".join([*parts, provenance(record)])


def drawings(study: str, record: Record) -> Iterator[Drawing]:
    """Yields the figures of a study."""
    if study == "few-labels":
        name, caption = "results-few-labels-seeds", CAPTIONS["seeds"]
        yield Drawing(name=name, caption=caption, figure=seed_figure(record))
        return
    for name, results in record["comparisons"].items():
        comparison = comparison_of(results)
        is_alone = len(record["comparisons"]) == 1
        prefix = f"results-{study}" if is_alone else f"results-{study}-{name}"
        for key in FIGURES_OF.get(study, ()):
            figure = DRAWN[key](comparison)
            if figure is not None:
                yield Drawing(name=f"{prefix}-{key}", caption=CAPTIONS[key], figure=figure)


def write_result_figures(folder: Path) -> list[Path]:
    """Draws the figures of every study that has a record."""
    paths = []
    for study, record in records_of(*STUDIES):
        for each in drawings(study, record):
            for file_format in FORMATS:
                path = folder / f"{each.name}.{file_format}"
                write_bytes(path, render(each.figure, file_format))
                paths.append(path)
    return paths


def by_labels(record: Record) -> str:
    """Returns how good `strong` is beside TF-IDF by the number of labels, for a first screen."""
    (results,) = record["comparisons"].values()
    comparison = comparison_of(results)
    tables = [
        markdown(size_table(comparison, test, "accuracy", "accuracy"))
        for test in which_tests(comparison)
    ]
    return "\n\n".join([*tables, facts_of(results), provenance(record)])


def best_way(record: Record) -> str:
    """Returns how good the best way to learn the same labels is, for a first screen."""
    (results,) = record["comparisons"].values()
    found = " ".join(best_sentences(comparison_of(results)))
    return "\n\n".join([found, provenance(record)])


def tfidf_strengths(record: Record) -> str:
    """Returns how good the line that networks are held against is with each of its strengths."""
    rows = [
        (
            f"{row['strength']:g}",
            f"{100 * row['valid']:.1f} %",
            *(show_percent_interval(row[test]) for test in ("clean", "full")),
        )
        for row in record["strengths"]
    ]
    columns = ("strength", "validation", "clean test", "full test")
    table = Table(
        title=f"TF-IDF with logistic regression, {record['num_labels']:,} labels",
        columns=columns,
        rows=tuple(rows),
        numeric=frozenset(columns),
    )
    return "\n\n".join([markdown(table), done_for(record, "tfidf_strengths"), provenance(record)])


def few_labels_settings(record: Record) -> str:
    """Returns which settings of a transfer are best with few labels, judged by no test."""
    parts = (markdown(settings_table(record)), done_for(record, "few_labels_settings"))
    return "\n\n".join([*parts, provenance(record)])


def show_percent_interval(score: Mapping[str, float]) -> str:
    """Returns a share with its interval, in percent."""
    mean, low, high = (100 * score[key] for key in ("mean", "low", "high"))
    return f"{mean:.1f} % ({low:.1f} to {high:.1f})"


RESULT_BLOCKS: Mapping[str, Callable[[], str]] = {
    **{f"results-{study}": partial(block, study) for study in STUDIES},
    "strong-by-labels": partial(block_of, "strong", by_labels),
    "strong-best-way": partial(block_of, "every-way", best_way),
    "results-few-labels-settings": partial(block_of, "few-labels-settings", few_labels_settings),
    "results-tfidf-strengths": partial(block_of, "tfidf-strengths", tfidf_strengths),
}
