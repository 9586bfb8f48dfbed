"""Pages: one HTML file that needs nothing else, readable on a phone, in print, dark and light.

    page = Page(
        title="What was read",
        lead=paragraph(escape("It is a film review.")),
        sections=(
            Section(title="Where it looked", body=figure_html(inline_svg(figure, "Weights"))),
            Section(title="Scores", body=join(table_html(table), paragraph(user_text(review)))),
        ),
    )
    data = page_html(page).encode()

`Html` is text that is safe to stand in a page. It comes from `escape`, `user_text` and `element`
alone, so that a type checker sees whatever was not escaped.
"""

from headstart.reports.page.document import Page, Section, page_html
from headstart.reports.page.html import (
    NOTHING,
    Html,
    element,
    escape,
    join,
    paragraph,
    user_text,
)
from headstart.reports.page.inline_figure import figure_html, inline_svg
from headstart.reports.page.tables import table_html
from headstart.reports.shortening import shortened

__all__ = [
    "NOTHING",
    "Html",
    "Page",
    "Section",
    "element",
    "escape",
    "figure_html",
    "inline_svg",
    "join",
    "page_html",
    "paragraph",
    "shortened",
    "table_html",
    "user_text",
]
