"""A comparison as one HTML file: the verdict first, then what it stands on."""

from collections.abc import Mapping
from typing import Any

from headstart.reports.comparison.curve_section import curve_section
from headstart.reports.comparison.error_section import error_section
from headstart.reports.comparison.leak_section import leak_section, listed
from headstart.reports.comparison.plain_values import show_value
from headstart.reports.comparison.reading import comparison_of
from headstart.reports.comparison.record import Comparison
from headstart.reports.comparison.score_sections import (
    difference_section,
    labels_section,
    scores_section,
)
from headstart.reports.comparison.settings_section import footer, ledger_section, settings_section
from headstart.reports.comparison.verdict_section import verdict_lead
from headstart.reports.page.document import Page, page_html
from headstart.reports.shortening import shortened

LENGTH_OF_TITLE = 120


def comparison_page(results: Mapping[str, Any]) -> str:
    """Returns the report of a comparison from its results.json alone."""
    comparison = comparison_of(results)
    page = Page(
        title=title(comparison),
        lead=verdict_lead(comparison),
        sections=(
            curve_section(comparison),
            labels_section(comparison),
            scores_section(comparison),
            difference_section(comparison),
            leak_section(comparison),
            ledger_section(comparison),
            error_section(comparison),
            settings_section(comparison),
        ),
        footer=footer(comparison),
    )
    return page_html(page)


def title(comparison: Comparison) -> str:
    """Returns what was asked: which trunks, on which examples."""
    names = [
        show_value(trunk["name"])
        for trunk in listed(comparison.question.get("trunks"))
        if "name" in trunk
    ]
    train = comparison.question.get("train")
    on = show_value(train["path"]) if isinstance(train, Mapping) and "path" in train else ""
    asked = ", ".join(names) + (f" on {on}" if on else "")
    return shortened(f"Was pretraining worth it? {asked}".strip(), LENGTH_OF_TITLE)
