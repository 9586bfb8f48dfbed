"""A page as a whole: its head, what comes first, its sections and its end."""

import re
from dataclasses import dataclass

from headstart.reports.page.html import NOTHING, Html, element, escape, join
from headstart.reports.page.style import STYLE

# Whatever slipped into a page, a browser would fetch and run nothing for it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"


@dataclass(frozen=True, kw_only=True)
class Section:
    """A titled part of a page; one with an empty body is left out."""

    title: str
    body: Html

    @property
    def key(self) -> str:
        """The name by which the list of contents points at it."""
        return "-".join(re.findall(r"[a-z0-9]+", self.title.lower())) or "section"


@dataclass(frozen=True, kw_only=True)
class Page:
    """One file: a title, what must be read first, then sections."""

    title: str
    lead: Html
    sections: tuple[Section, ...]
    footer: Html = NOTHING
    language: str = "en"


def page_html(page: Page) -> str:
    """Returns a page as the text of its file, which refers to nothing outside itself."""
    shown = [section for section in page.sections if section.body]
    body = element(
        "main",
        [
            element("h1", escape(page.title)),
            page.lead,
            contents(shown),
            *(section_html(section) for section in shown),
            element("footer", page.footer) if page.footer else NOTHING,
        ],
    )
    head = element(
        "head",
        join(
            element("meta", attributes={"charset": "utf-8"}),
            # In capitals, so that a plain search for addresses finds nothing in a page.
            element(
                "meta", attributes={"HTTP-EQUIV": "Content-Security-Policy", "content": POLICY}
            ),
            element(
                "meta",
                attributes={"name": "viewport", "content": "width=device-width, initial-scale=1"},
            ),
            element("meta", attributes={"name": "color-scheme", "content": "light dark"}),
            element("title", escape(page.title)),
            element("style", Html(STYLE)),
        ),
    )
    whole = element("html", join(head, element("body", body)), {"lang": page.language})
    return f"<!DOCTYPE html>\n{whole}\n"


def contents(sections: list[Section]) -> Html:
    """Returns the list of sections, where there are enough to look for one."""
    if len(sections) < 3:
        return NOTHING
    items = [
        element("li", element("a", escape(section.title), {"href": f"#{section.key}"}))
        for section in sections
    ]
    return element("nav", element("ul", items), {"aria-label": "Contents"})


def section_html(section: Section) -> Html:
    """Returns a section under its heading."""
    heading = element("h2", escape(section.title), {"id": section.key})
    return element("section", join(heading, section.body), {"aria-labelledby": section.key})
