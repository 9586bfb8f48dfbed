"""A comparison as sentences and tables, for a terminal or a page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headstart.reports.comparison.reading import comparison_of
from headstart.reports.comparison.record import Comparison, Difference, LabelWorth
from headstart.reports.comparison.wording import (
    NOTHING_SHOWN,
    headline,
    name_of,
    show_difference,
    show_interval,
    show_labels,
    show_p,
    show_pair,
    show_score,
    show_worth,
)
from headstart.reports.numbers import show_count
from headstart.reports.table import Table

METRICS = {"macro_f1": "macro-F1", "calibration_error": "calibration error"}


def verdict_lines(results: Mapping[str, Any]) -> list[str]:
    """Returns the verdict in words: the answer, then what supports it."""
    comparison = comparison_of(results)
    return [headline(comparison), *comparison.verdict.sentences]


def comparison_tables(results: Mapping[str, Any]) -> Iterator[Table]:
    """Yields the scores at each number of labels, the most first, and the differences."""
    comparison = comparison_of(results)
    for size in reversed(comparison.sizes):
        yield score_table(comparison, size, [comparison.verdict.test])
    if comparison.all_sizes != comparison.sizes:
        yield beyond_table(comparison)
    if comparison.differences:
        yield difference_table(comparison, comparison.verdict.test)
    if telling_worths(comparison):
        yield worth_table(comparison)


def score_table(comparison: Comparison, size: int, tests: Sequence[str]) -> Table:
    """Returns every system's scores with one number of labels; all but accuracy on one test."""
    main, *_ = tests
    names = [f"accuracy, {test} test" for test in tests] if len(tests) > 1 else ["accuracy"]
    columns = ("system", *names, *METRICS.values())
    rows = []
    for system in comparison.systems:
        cells = [show_score(comparison.score(system.key, size, test)) for test in tests]
        cells += [
            show_score(comparison.score(system.key, size, main, metric)) for metric in METRICS
        ]
        if any(cell != NOTHING_SHOWN for cell in cells):
            rows.append((name_of(comparison, system.key), *cells))
    return Table(
        title=f"With {show_labels(size)}, {' and '.join(tests)} test",
        columns=columns,
        rows=tuple(rows),
        numeric=frozenset(columns[1:]),
    )


def beyond_table(comparison: Comparison) -> Table:
    """Returns how far simpler lines come with more labels than the networks had."""
    test = comparison.verdict.test
    beyond = [size for size in comparison.all_sizes if size not in comparison.sizes]
    rows = tuple(
        (name_of(comparison, system.key), show_count(size), show_score(score))
        for system in comparison.systems
        for size in beyond
        if (score := comparison.score(system.key, size, test)) is not None
    )
    return Table(
        title=f"With more labels than the networks had, {test} test",
        columns=("system", "labels", "accuracy"),
        rows=rows,
        numeric=frozenset({"labels", "accuracy"}),
    )


def which_tests(comparison: Comparison) -> list[str]:
    """Returns the tests that say something of their own, the verdict's first."""
    main = comparison.verdict.test
    others = sorted({row.test for row in comparison.scores} - {main})
    return [main] if is_all_clean(comparison) else [main, *others]


def is_all_clean(comparison: Comparison) -> bool:
    """Whether nothing was taken out of the test, so that full and clean are one."""
    items: dict[str, set[int]] = {}
    for row in comparison.scores:
        items.setdefault(row.test, set()).add(row.num_items)
    return len(items) > 1 and len(set.union(*items.values())) == 1


def difference_table(comparison: Comparison, test: str) -> Table:
    """Returns the paired differences in accuracy on one test, the primary question first."""
    rows = comparison.differences_on(test)
    columns = ("difference", "labels", "points", "95 % interval", "p", "corrected p")
    return Table(
        title=f"Differences in accuracy on the {test} test",
        columns=columns,
        rows=tuple(difference_row(comparison, row) for row in rows),
        numeric=frozenset(columns[1:]),
        notes=tuple(difference_notes(rows)),
    )


def difference_row(comparison: Comparison, row: Difference) -> tuple[str, ...]:
    """Returns the row of one difference."""
    return (
        show_pair(comparison, row),
        show_count(row.size),
        show_difference(row),
        show_interval(row),
        show_p(row.p),
        "primary" if row.is_primary else show_p(row.p_corrected),
    )


def difference_notes(rows: list[Difference]) -> Iterator[str]:
    """Yields how differences are to be read."""
    yield "Each pair learned from the same labels and seeds and is judged on the same items."
    if any(row.is_primary for row in rows):
        yield (
            "The first row is the primary question, asked beforehand. "
            "The p of the others are corrected for being several (Holm)."
        )


def worth_table(comparison: Comparison) -> Table:
    """Returns how many times the labels others need to do as well."""
    rows = []
    for row in telling_worths(comparison):
        known = {system.key for system in comparison.systems}
        against = name_of(comparison, row.against) if row.against in known else row.against
        rows.append(
            (name_of(comparison, row.system), show_count(row.at_size), against, show_worth(row))
        )
    columns = ("system", "its labels", "against", "times the labels")
    return Table(
        title="What a warm start is worth in labels",
        columns=columns,
        rows=tuple(rows),
        numeric=frozenset({"its labels", "times the labels"}),
        notes=("So many times as many labels the other would need to do as well.",),
    )


def telling_worths(comparison: Comparison) -> list[LabelWorth]:
    """Returns the worths that say something: that it is worth at least its own labels does not."""
    return [
        row
        for row in comparison.label_worth
        if not (row.is_at_least and row.factor is not None and row.factor <= 1)
    ]
