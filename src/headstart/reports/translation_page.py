"""A translation as a page: what was written, what else might have been, and who looked where."""

import numpy as np

from headstart.evaluation.translation_explanation import TranslationExplanation
from headstart.reports.page import (
    NOTHING,
    Html,
    Page,
    Section,
    element,
    escape,
    join,
    paragraph,
    table_html,
    user_text,
)
from headstart.reports.page.labelled_map import shown
from headstart.reports.table import Table
from headstart.reports.translation_maps import across_html, mask_html, source_html, target_html


def translation_page(explanation: TranslationExplanation, version: str) -> Page:
    """Returns the page of one translation."""
    maps = explanation.maps
    return Page(
        title="A translation, and how it came about",
        lead=lead(explanation),
        sections=(
            Section(title="The candidates", body=candidates_section(explanation)),
            Section(title="Piece by piece", body=pieces_section(explanation)),
            Section(title="Where it looked in the source", body=across_html(maps)),
            Section(title="The source over itself", body=source_html(maps)),
            Section(title="The translation over itself", body=target_html(maps)),
            Section(title="The mask", body=mask_html(maps)),
        ),
        footer=paragraph(escape(f"Run {explanation.run}, by headstart {version}.")),
    )


def lead(explanation: TranslationExplanation) -> Html:
    """Returns the translation above what it is of."""
    text = user_text(explanation.text) if explanation.text else escape("(nothing)")
    return join(
        paragraph(text, "verdict"),
        element("blockquote", paragraph(user_text(explanation.source))),
        *(paragraph(escape(f"The text was {note}."), "note") for note in explanation.notes),
    )


def candidates_section(explanation: TranslationExplanation) -> Html:
    """Returns the translations that were found, the best first."""
    if not explanation.candidates:
        return NOTHING
    table = Table(
        title="The best translations that were found",
        columns=("place", "score", "translation"),
        rows=tuple(
            (str(place), f"{one.score:.3f}", one.text)
            for place, one in enumerate(explanation.candidates, start=1)
        ),
        numeric=frozenset({"place", "score"}),
        notes=(
            "The score is the logarithm of the probability, with the length penalty where one was "
            "asked for: the nearer to 0, the better.",
        ),
    )
    return table_html(table)


def pieces_section(explanation: TranslationExplanation) -> Html:
    """Returns how likely each piece was, and which piece of the source it took most from."""
    maps = explanation.maps
    whole = np.mean([layer.mean(axis=0) for layer in maps.across], axis=0)
    most = whole.argmax(axis=1)
    table = Table(
        title="What was written, one piece after another",
        columns=("piece", "probability", "took most from", "share"),
        rows=tuple(
            (
                shown(one.piece),
                f"{100 * one.probability:.1f} %",
                shown(maps.source_pieces[place]),
                f"{100 * row[place]:.0f} %",
            )
            for one, place, row in zip(explanation.written, most, whole, strict=False)
        ),
        numeric=frozenset({"probability", "share"}),
        notes=(
            "The probability is that of the piece behind those before it; what it took most from "
            "is by the mean over all layers and heads. A dot stands for the blank before a word.",
        ),
    )
    return table_html(table)
