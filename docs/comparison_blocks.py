"""What a study's comparisons found, as sentences and tables."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from page_parts import markdown
from verdict_block import verdict_sentences

from headstart.reports.comparison.reading import comparison_of
from headstart.reports.comparison.record import Comparison, Curve, Difference
from headstart.reports.comparison.wording import (
    KIND_NAMES,
    MINUS,
    NOTHING_SHOWN,
    name_of,
    show_interval,
    show_labels,
    show_p,
    show_percent,
    show_points,
    show_score,
)
from headstart.reports.comparison_tables import difference_table, score_table, which_tests
from headstart.reports.figures import by_trunk
from headstart.reports.numbers import show_count, show_share
from headstart.reports.table import Table

Record = Mapping[str, Any]


def compared(study: str, record: Record) -> Iterator[str]:
    """Yields the answers and tables of a study's comparisons."""
    for name, results in record["comparisons"].items():
        comparison = comparison_of(results)
        if len(record["comparisons"]) > 1:
            yield f"**{name.replace('-', ' ').capitalize()}.**"
        yield f"> {' '.join(verdict_sentences(results))}"
        yield " ".join(sentences(comparison))
        if study == "objectives":
            for test in which_tests(comparison):
                yield markdown(trunk_table(comparison, test))
                yield markdown(trunk_difference_table(comparison, test))
        else:
            yield from map(markdown, tables(comparison))
        yield from share_sentences(results)
        yield facts_of(results)


def sentences(comparison: Comparison) -> Iterator[str]:
    """Yields which system is best, and how soon a warm start is as good as a cold one."""
    yield from best_sentences(comparison)
    if len(comparison.sizes) == 1:
        yield from epoch_sentences(comparison)


def best_sentences(comparison: Comparison) -> Iterator[str]:
    """Yields which system is best with the most labels, and by how much it beats TF-IDF."""
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
                f"({show_interval(row)}; {p_of(row)})."
            )


def p_of(row: Difference) -> str:
    """Returns the p of a difference, corrected where it is one of several questions."""
    return f"p {show_p(row.p)}" if row.is_primary else f"corrected p {show_p(row.p_corrected)}"


def epoch_sentences(comparison: Comparison) -> Iterator[str]:
    """Yields what was reached on validation by which epoch, where one trunk was held to cold."""
    size = max(comparison.sizes)
    curves = {curve.system: curve for curve in comparison.curves if curve.size == size}
    rows = [row for row in comparison.reaching if (row.system, row.size) == ("warm", size)]
    if not rows or not {"warm", "cold"} <= set(curves):
        return
    row, warm, cold = rows[0], curves["warm"], curves["cold"]
    score = comparison.score("warm", size, comparison.verdict.test)
    assert score is not None
    yield (
        f"On validation warm scores {show_percent(warm.mean[0])} after the first epoch and "
        f"{show_percent(best_within(warm, 3))} within three; cold {show_percent(cold.mean[0])} "
        f"after the first and {show_percent(row.cold_best)} at its best, after "
        f"{row.cold_epoch:.1f} epochs."
    )
    reaching = f"{row.num_seeds_reaching} of {score.num_seeds} seeds"
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
        for metric, shown in (("accuracy", "accuracy"), ("macro_f1", "macro-F1")):
            for test in which_tests(comparison):
                yield size_table(comparison, test, metric, shown)
    rows = tuple(row for row in comparison.differences if row.size == size)
    if rows:
        largest = replace(comparison, differences=rows)
        for test in which_tests(comparison):
            yield difference_table(largest, test)


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


def trunk_table(comparison: Comparison, test: str) -> Table:
    """Returns the accuracy of every trunk in every way of learning, the best trunk first."""
    size = max(comparison.sizes)
    rows = by_trunk.scores_by_trunk(comparison, test)
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


def trunk_difference_table(comparison: Comparison, test: str) -> Table:
    """Returns by how much each trunk's warm network differs from whatever it was held against."""
    size = max(comparison.sizes)
    rows = [row for row in comparison.differences_on(test) if row.size == size]
    warm = {system.key: system for system in comparison.of_kind("warm")}
    # Its own frozen and gradual networks are one column each; the trunk that all were held to, one.
    against = dict.fromkeys(column_of(comparison, row) for row in rows)
    cells = {(row.of, column_of(comparison, row)): show_tested(row) for row in rows}
    columns = tuple(f"{MINUS} {name}" for name in against)
    return Table(
        title=f"Points by which warm differs with {show_labels(size)}, {test} test",
        columns=("warm", *columns),
        rows=tuple(
            (str(system.trunk), *(cells.get((key, name), NOTHING_SHOWN) for name in against))
            for key, system in warm.items()
        ),
        numeric=frozenset(columns),
        notes=(
            "Each p is corrected for all of them (Holm), but for that of the primary question.",
        ),
    )


def column_of(comparison: Comparison, row: Difference) -> str:
    """Returns what a warm network is held against: its trunk in another way, or something else."""
    of, to = comparison.system(row.of), comparison.system(row.to)
    return KIND_NAMES[to.kind] if to.trunk in {None, of.trunk} else name_of(comparison, row.to)


def show_tested(row: Difference) -> str:
    """Returns a difference in points with its interval and p."""
    return f"{show_points(row.difference)} ({show_interval(row)}; {p_of(row)})"


def facts_of(results: Record) -> str:
    """Says of how much a comparison is made."""
    question, leaks = results["question"], results["leaks"]
    hours = results["seconds"] / 3_600
    return (
        f"{show_count(leaks['num_clean'])} of {show_count(leaks['num_test'])} test items are "
        f"clean; {len(question['seeds'])} seeds, {show_count(results['num_jobs'])} jobs, "
        f"{hours:.1f} hours of work; 95 % intervals over seeds and items."
    )


def share_sentences(results: Record) -> Iterator[str]:
    """Yields how much each teacher counted, as validation had it, for each student's trunk."""
    for key, settings in results["question"]["settings"].items():
        if shares := settings.get("shares"):
            told = ", ".join(
                f"{KIND_NAMES[name]} {show_share(share)}" for name, share in shares.items()
            )
            yield f"How much each teacher counted for {key}, as validation had it: {told}."


def runs_table(runs: Record) -> Table:
    """Returns what was pretrained, for how long and how well."""
    numbers = ("steps", "minutes", "tokens", "bits for each byte")
    rows = []
    for name, run in runs.items():
        results = run["results"]
        notes = " with others at once" if run["is_side_by_side"] else ""
        begun = f", from {run['begun_from']}" if run["begun_from"] else ""
        given = ", made before" if run.get("is_given") else ""
        rows.append(
            (
                f"{name}{begun}{given}",
                run["recipe"],
                run["objective"],
                show_count(results["steps"]),
                f"{results['seconds'] / 60:.1f}",
                show_count(results["tokens"]),
                f"{results['held_out']['bits_per_byte']:.3f}",
                f"{run['device']}{notes}",
            )
        )
    columns = ("pretrained", "recipe", "objective", *numbers, "on")
    return Table(title="Trunks", columns=columns, rows=tuple(rows), numeric=frozenset(numbers))
