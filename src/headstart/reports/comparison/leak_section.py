"""What of the test had been seen before: in the labels, and in the pretraining text."""

from collections.abc import Mapping, Sequence

from headstart.reports.comparison.plain_values import show_value
from headstart.reports.comparison.record import Comparison
from headstart.reports.comparison.wording import NOTHING_SHOWN
from headstart.reports.numbers import show_share
from headstart.reports.page.document import Section
from headstart.reports.page.html import Html, escape, join, paragraph
from headstart.reports.page.tables import table_html
from headstart.reports.table import Table

NOTE_ON_SKETCHES = (
    "Held against a sample of the text that each trunk was pretrained on, its sketch."
)


def leak_section(comparison: Comparison) -> Section:
    """Returns how much of the test is clean, and every comparison that the leak guard made."""
    return Section(
        title="Leaks",
        body=join(
            clean_sentence(comparison.leaks),
            unjudged_sentences(comparison.leaks),
            unlabelled_sentence(comparison.question.get("unlabelled")),
            copies(comparison.leaks.get("findings")),
            known(comparison.leaks.get("sketches")),
        ),
    )


def clean_sentence(leaks: Mapping[str, object]) -> Html:
    """Returns how many test items are left without what was trained on."""
    num_clean, num_test = leaks.get("num_clean"), leaks.get("num_test")
    if not isinstance(num_clean, int) or not isinstance(num_test, int):
        return Html("")
    if num_clean == num_test:
        # What a trunk had read is told apart: its sketch cannot judge every item.
        said = f"All {num_test:,} test items are clean: none is a copy of the labelled text."
    else:
        gone = num_test - num_clean
        left_out = "1 is a copy" if gone == 1 else f"{gone:,} are copies"
        said = (
            f"{num_clean:,} of {num_test:,} test items are clean; {left_out} of what was trained "
            "on and left out of the clean test."
        )
    return paragraph(escape(said))


def unjudged_sentences(leaks: Mapping[str, object]) -> Html:
    """Returns for each trunk how many test items its sketch could not judge one by one."""
    num_test = leaks.get("num_test")
    if not isinstance(num_test, int):
        return Html("")
    said = []
    for row in listed(leaks.get("sketches")):
        num_unjudged, share = row.get("unjudged"), row.get("share")
        if row.get("split") != "test" or not isinstance(num_unjudged, int) or not num_unjudged:
            continue
        told = "together they are too short as well"
        if isinstance(share, int | float):
            told = f"of the 8-grams of the test as a whole about {show_share(share)} were known"
        are = "is" if num_unjudged == 1 else "are"
        said.append(
            f"Of {num_test:,} test items {num_unjudged:,} {are} too short to be held against the "
            f"sketch of {show_value(row.get('trunk'))} one by one; {told}."
        )
    return paragraph(escape(" ".join(said))) if said else Html("")


def unlabelled_sentence(unlabelled: object) -> Html:
    """Returns how many texts without labels were learned from, and how many copies were not."""
    if not isinstance(unlabelled, Mapping):
        return Html("")
    num_texts, num_copies = (unlabelled.get(key) for key in ("num_texts", "num_copies"))
    if not isinstance(num_texts, int) or not isinstance(num_copies, int):
        return Html("")
    copies_were = "1 copy was" if num_copies == 1 else f"{num_copies:,} copies were"
    said = (
        f"A taught system learned from {num_texts:,} texts without labels; {copies_were} left out "
        "of them, of validation or test texts."
    )
    return paragraph(escape(said))


def copies(findings: object) -> Html:
    """Returns a row for each comparison of a split with something else."""
    if isinstance(findings, Mapping):
        findings = findings.get("copies")
    compared = listed(findings)
    rows = tuple(
        tuple(show_value(row.get(key)) for key in ("split", "source", "kind", "items"))
        for row in compared
        if row.get("items")
    )
    if not rows:
        said = "No copy was found within the splits or from one to another."
        return paragraph(escape(said)) if compared else Html("")
    columns = ("items of", "copied from", "kind", "items")
    notes = ("Compared by their words: case, spaces, Unicode forms and punctuation aside.",)
    return table_html(
        Table(title="Copies", columns=columns, rows=rows, numeric=frozenset({"items"}), notes=notes)
    )


def known(sketches: object) -> Html:
    """Returns how much of each split stands in the text that a trunk was pretrained on."""
    rows = []
    for row in listed(sketches):
        share = row.get("share")
        shown = show_share(share) if isinstance(share, int | float) else NOTHING_SHOWN
        trunk, split, items, unjudged = (
            show_value(row.get(key)) for key in ("trunk", "split", "known", "unjudged")
        )
        rows.append((trunk, split, shown, items, unjudged))
    if not rows:
        return Html("")
    columns = (
        "trunk",
        "split",
        "stretches of 8 words known to it",
        "items known",
        "items too short",
    )
    notes = [NOTE_ON_SKETCHES]
    if any(row[2] == NOTHING_SHOWN for row in rows):
        notes.append("A dash: the texts are too short to tell.")
    return table_html(
        Table(
            title="Seen in pretraining",
            columns=columns,
            rows=tuple(rows),
            numeric=frozenset(columns[2:]),
            notes=tuple(notes),
        )
    )


def listed(value: object) -> list[Mapping[str, object]]:
    """Returns the objects of a list, or nothing where it is none."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return []
    return [row for row in value if isinstance(row, Mapping)]
