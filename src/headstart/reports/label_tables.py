"""A classifier's scores as tables: on validation, on the full and on the clean test."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headstart.reports.numbers import show_duration, show_share
from headstart.reports.table import Table

COLUMNS = ("on", "items", "accuracy", "macro-F1", "calibration error", "loss")
NOTE_ON_INTERVALS = "In brackets: 95 % intervals of this one classifier over other such texts."
# Beyond this many labels a confusion table is wider than any screen.
MOST_LABELS_SHOWN = 12


def transfer_tables(
    folder: Path, results: Mapping[str, Any], labels: Sequence[str]
) -> Iterator[Table]:
    """Yields what a finished transfer is worth, and how it came about."""
    found = {"validation": results["valid"], **named_tests(results["test"])}
    parameters = results["parameters"]
    yield score_table(
        f"Run {folder}",
        found,
        (
            f"Best epoch {results['best_epoch']:g} of {results['epochs']:g}, in "
            f"{show_duration(results['seconds'])}; {parameters['learning']:,} of "
            f"{parameters['all']:,} parameters learned.",
            f"Probabilities are softened by the temperature {results['temperature']:.3g}, found on "
            "validation.",
            f"Use it: headstart predict {folder} TEXT",
        ),
    )
    if results["test"] is not None:
        yield from confusion_tables(named_tests(results["test"]), labels)


def evaluation_tables(run: Path, test: Mapping[str, Any], labels: Sequence[str]) -> Iterator[Table]:
    """Yields what a classifier is worth on a test."""
    found = named_tests(test)
    yield score_table(f"Run {run}", found, ())
    yield from confusion_tables(found, labels)


def named_tests(test: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the scores on the full and the clean test by their names."""
    return {} if test is None else {"full test": test["full"], "clean test": test["clean"]}


def score_table(title: str, found: Mapping[str, Any], notes: tuple[str, ...]) -> Table:
    """Returns a row of scores for each set of examples; a clean test may have nothing left."""
    rows = tuple(
        (name, *(("0", *[""] * (len(COLUMNS) - 2)) if scores is None else score_cells(scores)))
        for name, scores in found.items()
    )
    return Table(
        title=title,
        columns=COLUMNS,
        rows=rows,
        numeric=frozenset(COLUMNS[1:]),
        notes=(*notes, NOTE_ON_INTERVALS),
    )


def score_cells(scores: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the scores on one set of examples."""
    return (
        f"{scores['num_items']:,}",
        *(share_cell(scores, name) for name in ("accuracy", "macro_f1", "calibration_error")),
        f"{scores['loss']:.4f}",
    )


def share_cell(scores: Mapping[str, Any], name: str) -> str:
    """Returns a share with its interval where it has one, such as "73.1 % (70.9 to 75.2)"."""
    low, high = scores.get(f"{name}_low"), scores.get(f"{name}_high")
    shown = show_share(scores[name])
    if low is None or high is None:
        return shown
    return f"{shown} ({100 * low:.1f} to {100 * high:.1f})"


def confusion_tables(found: Mapping[str, Any], labels: Sequence[str]) -> Iterator[Table]:
    """Yields who was taken for whom, on the clean test where it differs from the full one."""
    if len(labels) > MOST_LABELS_SHOWN:
        return
    seen = [(name, scores) for name, scores in found.items() if scores is not None]
    # The clean test is told apart only where something leaked.
    differs = len({scores["num_items"] for _, scores in seen}) > 1
    for name, scores in seen if differs else seen[:1]:
        rows = tuple(
            (label, *(f"{count:,}" for count in row))
            for label, row in zip(labels, scores["confusion"], strict=True)
        )
        columns = ("true label", *(f"taken for {label}" for label in labels))
        yield Table(
            title=f"Confusion, {name}",
            columns=columns,
            rows=rows,
            numeric=frozenset(columns[1:]),
        )
