"""What 20 seeds came to with few labels: the sentences, the table and the figure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from page_parts import markdown
from scipy import stats

from headstart.reports.comparison.wording import (
    NOTHING_SHOWN,
    show_labels,
    show_percent,
    show_points,
)
from headstart.reports.figures.seed_scores import SeedScores, draw
from headstart.reports.numbers import show_count
from headstart.reports.table import Table

Record = Mapping[str, Any]
WAYS = {"default": "as by default", "naive": "naive"}
# Below the majority and so much more, nothing was learned.
MARGIN, MARGIN_NAME = 0.03, "majority and 3 points"


def few_labels(record: Record) -> Iterator[str]:
    """Yields what every seed came to by default and by a naive recipe."""
    counted = f"{show_labels(record['num_labels'])} and {record['num_seeds']} seeds"
    same: Record | None = record.get("same_labels")
    yield f"> With {counted} {answer_sentence(record)}"
    if same is not None:
        yield (
            "> With the same labels for every seed, so that chance is in learning alone, "
            f"{answer_sentence(same)}"
        )
    columns = ("accuracy", "mean", "deviation of a seed", "the worst seed", "collapsed")
    rows = [*score_rows(record, ""), *(score_rows(same, ", the same labels") if same else ())]
    yield markdown(
        Table(
            title=f"`{record['trunk']}` on `{record['data_set']}`",
            columns=columns,
            rows=tuple(rows),
            numeric=frozenset(columns[1:]),
        )
    )
    yield settings_sentence(record)


def answer_sentence(answer: Record) -> str:
    """Says who collapsed, and how means and deviations differ, on the clean test."""
    ours, naive = (answer["systems"][key]["clean"] for key in WAYS)
    row = next(row for row in answer["differences"] if row["test"] == "clean")
    ratio, low, high = deviation_ratio(ours["by_seed"], naive["by_seed"])
    return (
        f"{collapses(ours)} by default, and {naive['num_collapsed'] or 'none'} by the naive "
        f"recipe. The mean differs from the naive one's by {show_points(row['difference'])} points "
        f"({show_points(row['low'])} to {show_points(row['high'])}); the standard deviation over "
        f"seeds is {ratio:.2f} times as large ({low:.2f} to {high:.2f})."
    )


def score_rows(answer: Record, which: str) -> Iterator[tuple[str, ...]]:
    """Yields a row of the table for each way and test; one where all items are clean."""
    default = answer["systems"]["default"]
    is_all_clean = default["clean"]["num_items"] == default["full"]["num_items"]
    tests = {"clean": "full and clean"} if is_all_clean else {"clean": "clean", "full": "full"}
    for key, system in answer["systems"].items():
        for test, shown in tests.items():
            one = system[test]
            yield (
                f"{WAYS[key]}{which}, {shown} test",
                f"{show_percent(one['mean'])} ({100 * one['low']:.1f} to {100 * one['high']:.1f})",
                f"{100 * one['deviation']:.2f} points",
                show_percent(one["least"]),
                f"{one['num_collapsed']} of {len(one['by_seed'])}",
            )


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


def settings_table(record: Record) -> Table:
    """Returns what each setting of a transfer came to on texts that are no test, the default first.

    `record` is of the study few-labels-settings.
    """
    first = next(iter(record["ways"].values()))
    against = {row["to"]: row for row in record["differences"]}
    rows = []
    for name, one in record["ways"].items():
        row = against.get(name)
        rows.append(
            (
                f"{name}, as by default" if row is None else name,
                f"{100 * one['mean']:.2f} %",
                f"{100 * one['deviation']:.2f} points",
                show_percent(one["least"]),
                *((NOTHING_SHOWN, NOTHING_SHOWN) if row is None else held_against(row, one, first)),
            )
        )
    columns = (
        *("accuracy", "mean", "deviation of a seed", "the worst seed"),
        *("the default has so many points more", "and so many times the deviation"),
    )
    (num_items,) = {one["num_items"] for one in record["ways"].values()}
    return Table(
        title=f"`{record['trunk']}` on {show_count(num_items)} training texts of "
        f"`{record['data_set']}`, {show_labels(record['num_labels'])}, {record['num_seeds']} seeds",
        columns=columns,
        rows=tuple(rows),
        numeric=frozenset(columns[1:]),
    )


def held_against(row: Record, one: Record, first: Record) -> tuple[str, str]:
    """Returns by how much the first has more than another, and the ratio of their deviations."""
    ratio, low, high = deviation_ratio(first["by_seed"], one["by_seed"])
    return (
        f"{show_points(row['difference'])} ({show_points(row['low'])} to "
        f"{show_points(row['high'])})",
        f"{ratio:.2f} ({low:.2f} to {high:.2f})",
    )


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
        f"above the majority's {show_percent(majority)}. Where nothing else is said, each seed "
        "draws other labels, the same for both."
    )


def seed_figure(record: Record) -> Figure:
    """Returns the figure with a dot for each seed."""
    clean = {key: system["clean"] for key, system in record["systems"].items()}
    ways = [SeedScores(name=WAYS[key], accuracies=tuple(clean[key]["by_seed"])) for key in WAYS]
    return draw(ways, clean["default"]["majority"] + MARGIN, MARGIN_NAME)
