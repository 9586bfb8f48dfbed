"""Text that is safe to stand in a page, whoever wrote it."""

import html
import re
from collections.abc import Iterable, Mapping
from typing import NewType

from headstart.reports.shortening import LENGTH_SHOWN, shortened

Html = NewType("Html", str)
NOTHING = Html("")

# Elements that have no end tag.
VOID = frozenset({"br", "col", "hr", "meta"})
# What no page may contain: control characters, and halves of surrogate pairs, which have no UTF-8.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def escape(text: str) -> Html:
    """Returns text as it reads, whatever signs are in it."""
    safe = html.escape(UNPRINTABLE.sub("\ufffd", text), quote=True)
    # An address in a text stays text; so written, a search for addresses finds none in a page.
    return Html(safe.replace("://", "&#58;//"))


def user_text(text: str, length: int = LENGTH_SHOWN) -> Html:
    """Returns someone's text, shortened, in its own direction, which it keeps to itself."""
    return element("bdi", escape(shortened(text, length)), {"dir": "auto"})


def element(
    name: str, inside: Html | Iterable[Html] = (), attributes: Mapping[str, str] | None = None
) -> Html:
    """Returns an element around what is safe already; values of attributes are escaped."""
    start = "".join(f' {key}="{escape(value)}"' for key, value in (attributes or {}).items())
    if name in VOID:
        return Html(f"<{name}{start}>")
    body = inside if isinstance(inside, str) else "".join(inside)
    return Html(f"<{name}{start}>{body}</{name}>")


def join(*parts: Html) -> Html:
    """Returns parts one after the other."""
    return Html("\n".join(part for part in parts if part))


def paragraph(inside: Html, look: str = "") -> Html:
    """Returns a paragraph, in one of the looks that the page's style has."""
    return element("p", inside, {"class": look} if look else None)
