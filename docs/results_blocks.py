"""The blocks and figures of results.md, each from the newest record of its study.

A study is found in benchmarks/studies; what has no record yet says so, and the page can be built
step by step. `generate.py` puts the folder of records on the path before it imports this.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from page_parts import markdown, provenance
from record import newest
from scipy import stats

from headstart.files import write_bytes
from headstart.reports.comparison.reading import comparison_of
from headstart.reports.comparison.record import Comparison, Curve, Score
from headstart.reports.comparison.wording import (
    name_of,
    show_interval,
    show_labels,
    show_percent,
    show_points,
    show_score,
)
from headstart.reports.comparison_tables import difference_table, score_table, which_tests
from headstart.reports.figures import accuracy_by_labels, by_trunk, differences, learning_curves
from headstart.reports.figures.seed_scores import SeedScores
from headstart.reports.figures.seed_scores import draw as draw_seeds
from headstart.reports.figures.style import FORMATS, render
from headstart.reports.numbers import show_count
from headstart.reports.table import Table

Record = Mapping[str, Any]
NO_RECORD = "No record yet."
STUDIES = ("documents", "strong", "objectives", "imdb", "topics-and-spam", "few-labels")
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
WAYS = {"default": "as by default", "naive": "naive"}
MARGIN_NAME = "majority and 3 points"


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A figure, the name of its file, and what it shows."""

    name: str
    caption: str
    figure: Figure


def block(study: str) -> str:
    """Returns what a study found, or that there is nothing yet."""
    try:
        record = newest(study)
    except FileNotFoundError:
        return NO_RECORD
    return study_block(study, record)


def study_block(study: str, record: Record) -> str:
    """Returns a study's answer, tables, figures and commands."""
    parts = list(few_labels(record) if study == "few-labels" else compared(study, record))
    parts += [f"![{each.caption}](figures/{each.name}.svg)" for each in drawings(study, record)]
    if record.get("runs"):
        parts.append(markdown(runs_table(record["runs"])))
    program = study.replace("-", "_")
    lines = "\n".join(record["commands"])
    parts.append(f"`python benchmarks/studies/{program}.py` does it all:")
    parts.append(f"```sh\n{lines}\n```")
    return "\n\n".join([*parts, provenance(record)])


def compared(study: str, record: Record) -> Iterator[str]:
    """Yields the answers and tables of a study's comparisons."""
    for name, results in record["comparisons"].items():
        comparison = comparison_of(results)
        if len(record["comparisons"]) > 1:
            yield f"**{name.capitalize()}.**"
        yield f"> {' '.join(comparison.verdict.sentences)}"
        yield " ".join(sentences(comparison))
        if study == "objectives":
            yield markdown(trunk_table(comparison))
        else:
            yield from map(markdown, tables(comparison))
        yield facts_of(results)


def sentences(comparison: Comparison) -> Iterator[str]:
    """Yields which system is best, and how soon a warm start is as good as a cold one."""
    size, test = max(comparison.sizes), comparison.verdict.test
    ranked = sorted(
        (score.mean, system.key)
        for system in comparison.systems
        if (score := comparison.score(system.key, size, test)) is not None
    )
    best = comparison.score(ranked[-1][1], size, test)
    assert best is not None
    yield (
        f"With {show_labels(size)} {name_of(comparison, best.system)} scores most: "
        f"{show_score(best)} on the {test} test, over {best.num_seeds} seeds."
    )
    for row in comparison.differences_on(test):
        if (row.of, row.to, row.size) == (best.system, "tfidf", size):
            yield (
                f"It differs from TF-IDF by {show_points(row.difference)} points "
                f"({show_interval(row)})."
            )
    if len(comparison.sizes) == 1:
        yield from epoch_sentences(comparison, best)


def epoch_sentences(comparison: Comparison, score: Score) -> Iterator[str]:
    """Yields what was reached on validation by which epoch, where one trunk was held to cold."""
    size, num_seeds = score.size, score.num_seeds
    curves = {curve.system: curve for curve in comparison.curves if curve.size == size}
    rows = [row for row in comparison.reaching if (row.system, row.size) == ("warm", size)]
    if not rows or not {"warm", "cold"} <= set(curves):
        return
    row, warm, cold = rows[0], curves["warm"], curves["cold"]
    yield (
        f"On validation warm scores {show_percent(warm.mean[0])} after the first epoch and "
        f"{show_percent(best_within(warm, 3))} within three; cold {show_percent(cold.mean[0])} "
        f"after the first and {show_percent(row.cold_best)} at its best, after "
        f"{row.cold_epoch:.1f} epochs."
    )
    reaching = f"{row.num_seeds_reaching} of {num_seeds} seeds"
    if row.epochs is None:
        yield f"Warm gets there with {reaching} only."
    else:
        yield f"Warm is as good after {row.epochs:.1f} epochs, with {reaching}."


def best_within(curve: Curve, last: float) -> float:
    """Returns the best mean of a curve up to an epoch."""
    return max(mean for epoch, mean in zip(curve.epochs, curve.mean, strict=True) if epoch <= last)


def tables(comparison: Comparison) -> Iterator[Table]:
    """Yields the scores: on both tests where there is one size, else by size; differences."""
    size = max(comparison.sizes)
    if len(comparison.sizes) == 1:
        yield score_table(comparison, size, which_tests(comparison))
    else:
        for test in which_tests(comparison):
            yield size_table(comparison, test, "accuracy", "accuracy")
        yield size_table(comparison, comparison.verdict.test, "macro_f1", "macro-F1")
    rows = tuple(row for row in comparison.differences if row.size == size)
    if rows:
        largest = replace(comparison, differences=rows)
        yield difference_table(largest, comparison.verdict.test)


def size_table(comparison: Comparison, test: str, metric: str, shown: str) -> Table:
    """Returns one score of every system by the number of labels."""
    sizes = comparison.all_sizes
    columns = tuple(show_labels(size) for size in sizes)
    rows = [
        [comparison.score(system.key, size, test, metric) for size in sizes]
        for system in comparison.systems
    ]
    return Table(
        title=f"{shown[0].upper()}{shown[1:]} on the {test} test",
        columns=("system", *columns),
        rows=tuple(
            (name_of(comparison, system.key), *map(show_score, row))
            for system, row in zip(comparison.systems, rows, strict=True)
        ),
        numeric=frozenset(columns),
    )


def trunk_table(comparison: Comparison) -> Table:
    """Returns the accuracy of every trunk in every way of learning, the best trunk first."""
    size, test = max(comparison.sizes), comparison.verdict.test
    rows = by_trunk.scores_by_trunk(comparison)
    kinds = tuple(dict.fromkeys(kind for scores in rows.values() for kind in scores))
    lines = [
        (name, *(show_score(scores.get(kind)) for kind in kinds)) for name, scores in rows.items()
    ]
    tfidf = comparison.score("tfidf", size, test)
    notes = () if tfidf is None else (f"TF-IDF: {show_score(tfidf)}.",)
    return Table(
        title=f"Accuracy with {show_labels(size)}, {test} test, the best trunk first",
        columns=("trunk", *kinds),
        rows=tuple(lines),
        numeric=frozenset(kinds),
        notes=notes,
    )


def facts_of(results: Record) -> str:
    """Says of how much a comparison is made."""
    question, leaks = results["question"], results["leaks"]
    hours = results["seconds"] / 3_600
    return (
        f"{show_count(leaks['num_clean'])} of {show_count(leaks['num_test'])} test items are "
        f"clean; {len(question['seeds'])} seeds, {show_count(results['num_jobs'])} jobs, "
        f"{hours:.1f} hours of work; 95 % intervals over seeds and items."
    )


def runs_table(runs: Record) -> Table:
    """Returns what was pretrained, for how long and how well."""
    columns = ("pretrained", "recipe", "objective", "minutes", "tokens", "bits for each byte", "on")
    rows = []
    for name, run in runs.items():
        results = run["results"]
        notes = " with others at once" if run["is_side_by_side"] else ""
        begun = f", from {run['begun_from']}" if run["begun_from"] else ""
        rows.append(
            (
                f"{name}{begun}",
                run["recipe"],
                run["objective"],
                f"{results['seconds'] / 60:.1f}",
                show_count(results["tokens"]),
                f"{results['held_out']['bits_per_byte']:.3f}",
                f"{run['device']}{notes}",
            )
        )
    numeric = frozenset({"minutes", "tokens", "bits for each byte"})
    return Table(title="Trunks", columns=columns, rows=tuple(rows), numeric=numeric)


def few_labels(record: Record) -> Iterator[str]:
    """Yields what every seed came to by default and by a naive recipe."""
    clean = {key: system["clean"] for key, system in record["systems"].items()}
    row = next(row for row in record["differences"] if row["test"] == "clean")
    ours, naive = clean["default"], clean["naive"]
    ratio, low, high = deviation_ratio(ours["by_seed"], naive["by_seed"])
    yield (
        f"> With {show_labels(record['num_labels'])} and {record['num_seeds']} seeds "
        f"{collapses(ours)} by default, and {naive['num_collapsed'] or 'none'} by the naive "
        f"recipe. The mean differs from the naive one's by {show_points(row['difference'])} points "
        f"({show_points(row['low'])} to {show_points(row['high'])}); the standard deviation over "
        f"seeds is {ratio:.2f} times as large ({low:.2f} to {high:.2f})."
    )
    columns = ("accuracy", "mean", "deviation of a seed", "the worst seed", "collapsed")
    is_all_clean = ours["num_items"] == record["systems"]["default"]["full"]["num_items"]
    tests = {"clean": "full and clean"} if is_all_clean else {"clean": "clean", "full": "full"}
    rows = [
        (
            f"{WAYS[key]}, {shown} test",
            f"{show_percent(one['mean'])} ({100 * one['low']:.1f} to {100 * one['high']:.1f})",
            f"{100 * one['deviation']:.2f} points",
            show_percent(one["least"]),
            f"{one['num_collapsed']} of {len(one['by_seed'])}",
        )
        for key, system in record["systems"].items()
        for one, shown in ((system[test], shown) for test, shown in tests.items())
    ]
    yield markdown(
        Table(
            title=f"`{record['trunk']}` on `{record['data_set']}`",
            columns=columns,
            rows=tuple(rows),
            numeric=frozenset(columns[1:]),
        )
    )
    yield settings_sentence(record)


def deviation_ratio(ours: Sequence[float], naive: Sequence[float]) -> tuple[float, float, float]:
    """Returns the ratio of the deviations of paired seeds, with its 95 % interval (Morgan 1939)."""
    degrees = len(ours) - 2
    if degrees < 1:
        return float(np.std(ours) / np.std(naive)), 0.0, math.inf
    ratio = float(np.var(ours) / np.var(naive))
    # What both owe to the same draw of labels tells nothing of their ratio.
    correlation = float(np.corrcoef(ours, naive)[0, 1])
    bound = float(stats.t.ppf(0.975, degrees)) ** 2
    middle = 1 + 2 * (1 - correlation**2) * bound / degrees
    around = math.sqrt(middle**2 - 1)
    low, high = ratio * (middle - around), ratio * (middle + around)
    return math.sqrt(ratio), math.sqrt(low), math.sqrt(high)


def collapses(scores: Record) -> str:
    """Says how many runs learned nothing."""
    num = scores["num_collapsed"]
    return f"{num or 'no'} {'run collapses' if num < 2 else 'runs collapse'}"


def settings_sentence(record: Record) -> str:
    """Says how the naive recipe learned, and which rates it had to choose from."""
    naive = record["systems"]["naive"]["settings"]
    tried = ", ".join(
        f"{row['peak_rate']:g} ({show_percent(row['mean'])})"
        for row in record["naive_rates_on_validation"]
    )
    majority = record["systems"]["default"]["clean"]["majority"]
    return (
        f"Naive is {naive['epochs']} epochs, no warm-up and the rate {naive['peak_rate']:g} for "
        f"all layers, the best on validation of {tried}. A run has collapsed that is not 3 points "
        f"above the majority's {show_percent(majority)}. Each seed draws other labels, the same "
        "for both."
    )


def drawings(study: str, record: Record) -> Iterator[Drawing]:
    """Yields the figures of a study."""
    if study == "few-labels":
        yield seed_drawing(record)
        return
    for name, results in record["comparisons"].items():
        comparison = comparison_of(results)
        prefix = f"results-{study}" if len(record["comparisons"]) == 1 else f"results-{name}"
        for key in FIGURES_OF.get(study, ()):
            figure = DRAWN[key](comparison)
            if figure is not None:
                yield Drawing(name=f"{prefix}-{key}", caption=CAPTIONS[key], figure=figure)


def seed_drawing(record: Record) -> Drawing:
    """Returns the figure with a dot for each seed."""
    clean = {key: system["clean"] for key, system in record["systems"].items()}
    ways = [SeedScores(name=WAYS[key], accuracies=tuple(clean[key]["by_seed"])) for key in WAYS]
    figure = draw_seeds(ways, clean["default"]["majority"] + 0.03, MARGIN_NAME)
    return Drawing(name="results-few-labels-seeds", caption=CAPTIONS["seeds"], figure=figure)


def write_result_figures(folder: Path) -> list[Path]:
    """Draws the figures of every study that has a record."""
    paths = []
    for study in STUDIES:
        try:
            record = newest(study)
        except FileNotFoundError:
            continue
        for each in drawings(study, record):
            for file_format in FORMATS:
                path = folder / f"{each.name}.{file_format}"
                write_bytes(path, render(each.figure, file_format))
                paths.append(path)
    return paths


RESULT_BLOCKS: Mapping[str, Callable[[], str]] = {
    f"results-{study}": partial(block, study) for study in STUDIES
}
