"""Figures inside a page: their text is text, and their colours follow the page's."""

import hashlib
import re
from xml.etree import ElementTree

from matplotlib.figure import Figure

from headstart.reports.figures.palette import COLOURS
from headstart.reports.figures.style import render_for_page
from headstart.reports.page.html import NOTHING, UNPRINTABLE, Html, element, escape

# Black and white are the page's ink and paper; the palette's colours have their like by night.
THEMED = {
    "#000000": "currentColor",
    "#ffffff": "var(--paper)",
    **{colour.light: f"var(--{name})" for name, colour in COLOURS.items()},
}
COLOUR = re.compile(r"#[0-9a-f]{6}\b")
FONT = re.compile(r"font-family:[^;]*")
REFERENCE = re.compile(r"#(?=[A-Za-z])([\w.-]+)")
LEAST_ZOOM, MOST_ZOOM = 0.95, 1.55
# A page has no use for these, and the second would set the style of all of it.
DROPPED = ("metadata", "style")


def inline_svg(figure: Figure, title: str, description: str = "") -> Html:
    """Returns a figure as an element of a page; the title and description are read aloud."""
    data = render_for_page(figure)
    root = ElementTree.fromstring(UNPRINTABLE.sub("\ufffd", data.decode()))
    key = "f" + hashlib.sha256(data + title.encode(errors="replace")).hexdigest()[:8]
    simplify(root)
    tidy_names(root, key)
    width = float(root.attrib["width"].removesuffix("pt"))
    inside = [element("title", escape(title), {"id": f"{key}-title"})]
    named_by = f"{key}-title"
    if description:
        inside.append(element("desc", escape(description), {"id": f"{key}-desc"}))
        named_by += f" {key}-desc"
    attributes = {
        "viewBox": root.attrib["viewBox"],
        "role": "img",
        "aria-labelledby": named_by,
        "fill": "currentColor",
        "stroke-linejoin": "round",
        # No wider and no narrower than its text reads well at; a narrow page scrolls it.
        "style": f"min-width:{width * LEAST_ZOOM:.0f}px;max-width:{width * MOST_ZOOM:.0f}px",
    }
    inside += [inner_html(child) for child in root]
    return element("svg", inside, attributes)


def inner_html(part: ElementTree.Element) -> Html:
    """Returns a part of a drawing, in which an address is text as everywhere in a page."""
    return Html(ElementTree.tostring(part, encoding="unicode").replace("://", "&#58;//"))


def figure_html(svg: Html, caption: Html = NOTHING) -> Html:
    """Returns a drawing with its caption below."""
    return element("figure", [svg, element("figcaption", caption)] if caption else [svg])


def simplify(root: ElementTree.Element) -> None:
    """Drops what a page has no use for, and turns colours and fonts into the page's."""
    for parent in root.iter():
        for child in list(parent):
            if local(child.tag) in DROPPED:
                parent.remove(child)
    for part in root.iter():
        part.tag = local(part.tag)
        part.attrib = {local(name): themed(value) for name, value in part.attrib.items()}
        part.tail = None
        if part.tag not in ("text", "tspan"):
            part.text = None


def tidy_names(root: ElementTree.Element, key: str) -> None:
    """Keeps the names that something refers to, made unlike those of any other figure."""
    values = [value for part in root.iter() for value in part.attrib.values()]
    used = {name for value in values for name in REFERENCE.findall(value)}
    for part in root.iter():
        name = part.attrib.pop("id", None)
        part.attrib = {
            at: REFERENCE.sub(rf"#{key}\1", value) if "#" in value else value
            for at, value in part.attrib.items()
        }
        if name in used:
            part.attrib["id"] = f"{key}{name}"


def themed(value: str) -> str:
    """Returns an attribute with the colours and the font of the page, on one line."""
    plain = FONT.sub("font-family: var(--sans)", " ".join(value.split()))
    return COLOUR.sub(lambda found: THEMED.get(found[0], found[0]), plain)


def local(name: str) -> str:
    """Returns a name without its namespace, which HTML does without."""
    return name.rpartition("}")[2]
