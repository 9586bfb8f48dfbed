"""A comparison of translators as a page: the verdict, the scores, and those of each seed."""

from collections.abc import Mapping
from typing import Any

from headstart.reports.page import Page, Section, escape, join, paragraph, table_html
from headstart.reports.translator_comparison_tables import comparison_tables, verdict_lines

ABOUT = (
    "Warm translators begin with a pretrained trunk, cold ones of the same shape with drawn "
    "weights; of one seed both have the same pairs, vocabulary and steps. BLEU and chrF are no "
    "means over sentences, so that groups of sentences are left out in turn, and seeds and "
    "sentences both count as random."
)


def translator_comparison_page(results: Mapping[str, Any], version: str) -> Page:
    """Returns the page of a comparison."""
    verdict, *doubts = verdict_lines(results)
    scores, by_seed = comparison_tables(results)
    return Page(
        title="Was pretraining worth it for translation?",
        lead=join(
            paragraph(escape(verdict), "verdict"),
            *(paragraph(escape(doubt), "warning") for doubt in doubts),
        ),
        sections=(
            Section(title="Scores", body=join(table_html(scores), paragraph(escape(ABOUT)))),
            Section(title="Seed by seed", body=table_html(by_seed)),
        ),
        footer=paragraph(escape(f"By headstart {version}.")),
    )
