"""Errors worth reading: what a system gets wrong, surely and every time."""

from headstart.reports.comparison.record import Comparison, Misreading
from headstart.reports.comparison.wording import name_of, show_labels, show_percent
from headstart.reports.page.document import Section
from headstart.reports.page.html import Html, element, escape, join, paragraph, user_text

LENGTH_OF_LABEL = 60
MOST_SHOWN = 20


def error_section(comparison: Comparison) -> Section:
    """Returns the texts with their true and their predicted label, the surest first."""
    if not comparison.errors:
        return Section(title="Errors worth reading", body=Html(""))
    first = comparison.errors[0]
    said = (
        f"Wrong answers of {name_of(comparison, first.system)} with {show_labels(first.size)}, "
        "the surest first. Some of the labels themselves may be wrong."
    )
    surest = sorted(comparison.errors, key=lambda row: -row.probability)[:MOST_SHOWN]
    quotes = [error_html(row) for row in surest]
    return Section(title="Errors worth reading", body=join(paragraph(escape(said)), *quotes))


def error_html(row: Misreading) -> Html:
    """Returns one text with what it is, what it was taken for, and how surely."""
    label, predicted = (user_text(text, LENGTH_OF_LABEL) for text in (row.label, row.predicted))
    seeds = f"{row.num_seeds_wrong:,} of {row.num_seeds:,} seeds"
    parts = [
        escape("Labelled "),
        element("strong", label),
        escape(", taken for "),
        element("strong", predicted),
        escape(f" with {show_percent(row.probability)}, wrong in {seeds}; item {row.index:,}."),
    ]
    text = paragraph(user_text(row.text))
    return element("blockquote", [text, element("p", parts, {"class": "note"})])
