"""The leak guard's findings as tables: what was found, how often, and where to look."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from headstart.corpora.leaks.prepared import Item
from headstart.corpora.leaks.report import LeakReport
from headstart.reports.numbers import show_count, show_share
from headstart.reports.table import Table

NUM_SHOWN = 3


class Found(Protocol):
    """Items of a split that stand elsewhere too."""

    @property
    def num_items(self) -> int:
        """How many there are."""

    @property
    def split(self) -> str:
        """The split that they are in."""


def leak_tables(report: LeakReport) -> Iterator[Table]:
    """Yields the tables of a report, the most important first."""
    yield clean_table(report)
    yield copy_table(report)
    yield label_table(report)
    yield oddity_table(report)


def clean_table(report: LeakReport) -> Table:
    """How much of each split is left without what was trained on."""
    rows: list[tuple[str, ...]] = []
    for split, num_items in report.num_items.items():
        kept = report.cleaned.get(split)
        if kept is None:
            rows.append((split, show_count(num_items), "", "", ""))
            continue
        counts = (num_items, num_items - kept.num_clean, kept.num_clean, kept.num_strict)
        rows.append((split, *map(show_count, counts)))
    return Table(
        title="What is left",
        columns=("split", "items", "copies of what is trained on", "clean", "strict"),
        rows=tuple(rows),
        numeric=frozenset({"items", "copies of what is trained on", "clean", "strict"}),
        notes=(
            "Clean: without exact copies of anything trained on. Strict: without near copies too.",
        ),
    )


def copy_table(report: LeakReport) -> Table:
    """Copies inside and across splits, and in the corpus, with the first places."""
    rows = []
    for copies in report.exact:
        first = [f"{copy.item.place} = {copy.of.place}" for copy in copies.copies[:NUM_SHOWN]]
        rows.append(copy_row("exact", copies, copies.source, first))
    for near in report.near:
        first = [
            f"{pair.item.place} ~ {pair.of.place} ({pair.similarity:.2f})"
            for pair in near.pairs[:NUM_SHOWN]
        ]
        rows.append(copy_row("near", near, near.source, first))
    for exact in report.corpus_exact:
        first = [f"{copy.item.place} = {copy.first}" for copy in exact.copies[:NUM_SHOWN]]
        rows.append(copy_row("exact", exact, "corpus", first))
    for close in report.corpus_near:
        first = [
            f"{copy.item.place} ~ {copy.best} ({copy.similarity:.2f})"
            for copy in close.copies[:NUM_SHOWN]
        ]
        rows.append(copy_row("near", close, "corpus", first))
    return Table(
        title="Copies",
        columns=("items of", "copied from", "kind", "items", "first ones"),
        rows=tuple(rows),
        numeric=frozenset({"items"}),
        notes=("Compared by their words: case, spaces, Unicode forms and punctuation aside.",),
    )


def copy_row(
    kind: str, found: Found, source: str, first: Iterable[str]
) -> tuple[str, str, str, str, str]:
    """Returns the row of one comparison."""
    where = "itself" if source == found.split else source
    return found.split, where, kind, show_count(found.num_items), "; ".join(first)


def label_table(report: LeakReport) -> Table:
    """The labels of each split, and texts that have more than one."""
    rows = tuple(
        (
            balance.split,
            ", ".join(f"{label} {count:,}" for label, count in balance.num_items_of.items()),
            show_share(balance.largest_share),
            ", ".join(balance.unseen_labels) or "none",
        )
        for balance in report.balances
    )
    conflicts = report.conflicts
    notes = [f"{show_count(conflicts.num_texts)} texts have more than one label."]
    for conflict in conflicts.conflicts[:NUM_SHOWN]:
        sides = (f"{side.label} at {side.first.place}" for side in conflict.labels)
        notes.append(f"For one: {'; '.join(sides)}.")
    return Table(
        title="Labels",
        columns=("split", "labels", "largest share", "unseen in training"),
        rows=rows,
        numeric=frozenset({"largest share"}),
        notes=tuple(notes),
    )


def oddity_table(report: LeakReport) -> Table:
    """Items that do not fit the rest of their split."""
    rows = tuple(
        (odd.split, odd.kind, odd.rule, show_count(odd.num_items), places(odd.first))
        for odd in report.oddities
        if odd.num_items
    )
    return Table(
        title="Odd items",
        columns=("split", "kind", "rule", "items", "first ones"),
        rows=rows,
        numeric=frozenset({"items"}),
        notes=() if rows else ("None.",),
    )


def places(items: Iterable[Item]) -> str:
    """Names where items stand."""
    return "; ".join(str(item.place) for item in items)
