"""A page stands by itself: balanced, escaped, fetching nothing, with a like for dark and light."""

import re

import pytest

from headstart.reports.figures.palette import COLOURS
from headstart.reports.figures.style import new_axes
from headstart.reports.page import (
    Page,
    Section,
    element,
    escape,
    figure_html,
    inline_svg,
    join,
    page_html,
    paragraph,
    shortened,
    table_html,
    user_text,
)
from headstart.reports.page.style import DARK, LIGHT
from headstart.reports.table import Table

HOSTILE = [
    "<script>alert(1)</script>",
    "\"' onload='x'",
    "]]><!--",
    "</title></style></svg><img src=x>",
    "مرحبا \u202e abc",
    "a\x00b\x1b[0m",
    "half \ud83d a pair",
    "&lt;b&gt; &amp; &copy;",
    "see https://example.org/a",
    "$x^2$ \\$ $",
]


def drawing(label="one", title="Two points"):
    figure, axes = new_axes(4, 3, title)
    axes.plot([1, 2], [3, 4], color=COLOURS["blue"].light, marker="o", label=label)
    axes.legend(frameon=False)
    return figure


def page(text="plain", **changes):
    table = Table(title=text, columns=("a", text), rows=((text, text),), notes=(text,))
    sections = (
        Section(title="Figure", body=figure_html(inline_svg(drawing(), text, text), escape(text))),
        Section(title=text, body=join(table_html(table), paragraph(user_text(text)))),
        Section(title="Empty", body=escape("")),
    )
    wanted = {"title": text, "lead": paragraph(escape(text)), "sections": sections} | changes
    return page_html(Page(**wanted))


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_a_text_holds_it_reads_as_text(text, read_page):
    plain, hostile = read_page(page()), read_page(page(text))
    assert [tag for tag, _ in hostile.seen] == [tag for tag, _ in plain.seen]
    assert [set(attributes) for _, attributes in hostile.seen] == [
        set(attributes) for _, attributes in plain.seen
    ]
    page(text).encode()


@pytest.mark.parametrize("text", [text for text in HOSTILE if text.isprintable()])
def test_escaping_is_undone_by_a_reader(text, read_page):
    assert read_page(element("p", escape(text))).text == text
    value = read_page(element("p", escape(""), {"title": text})).seen[0][1]["title"]
    assert value == text


def test_no_address_stands_in_a_page_even_where_a_text_has_one():
    assert "://" not in page("see https://example.org/a")
    assert "http" not in page()


def test_nothing_is_fetched(read_page):
    reader = read_page(page())
    for tag, attributes in reader.seen:
        assert tag not in {"script", "link", "img", "iframe", "object", "embed"}
        for name in ("href", "src", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert not re.search(r"url\((?!#)|@import|@font-face", page())


def test_every_reference_has_its_target_and_no_name_is_given_twice(read_page):
    both = join(inline_svg(drawing(), "first"), inline_svg(drawing("two"), "second"))
    for text in (page(), both):
        reader = read_page(text)
        names = [attributes["id"] for _, attributes in reader.seen if "id" in attributes]
        assert len(set(names)) == len(names)
        wanted = re.findall(r"(?:href=\"|url\()#([\w.-]+)", text)
        assert wanted
        assert set(wanted) <= set(names)
        labelled = re.findall(r'aria-labelledby="([^"]+)"', text)
        assert {name for value in labelled for name in value.split()} <= set(names)


def test_an_empty_section_is_left_out():
    assert "Empty" not in page()


def test_a_drawing_has_text_names_and_the_colours_of_the_page(read_page):
    svg = inline_svg(drawing("série", "Deux & points"), "Title", "What it shows")
    reader = read_page(svg)
    assert {"Title", "What it shows", "série", "Deux & points"} <= set(reader.texts)
    assert "var(--blue)" in svg
    assert not re.search(r"#[0-9a-f]{6}\b", svg)
    assert "xmlns" not in svg
    assert "metadata" not in svg


def test_a_drawing_is_the_same_text_each_time():
    assert inline_svg(drawing(), "a") == inline_svg(drawing(), "a")


def test_a_script_without_a_glyph_is_no_warning():
    assert "日本" in inline_svg(drawing("日本"), "a")


def test_headers_of_a_table_have_a_scope(read_page):
    table = Table(title="t", columns=("a", "b"), rows=(("x", "1"),), numeric=frozenset({"b"}))
    headers = [attributes for tag, attributes in read_page(table_html(table)).seen if tag == "th"]
    assert [attributes["scope"] for attributes in headers] == ["col", "col", "row"]


def test_a_long_text_is_shortened_and_says_by_how_much():
    assert shortened("ab " * 5_000, 100).endswith("… (14,899 more characters)")
    assert shortened(" a\n\nb ", 100) == "a b"
    assert len(user_text("x" * 10_000)) < 800


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("theme", "side"), [(LIGHT, "light"), (DARK, "dark")])
def test_text_is_readable_by_day_and_by_night(theme, side):
    for name in ("ink", "soft", "link"):
        assert contrast(theme[name], theme["paper"]) >= 4.5
        assert contrast(theme[name], theme["tint"]) >= 4.5
    for name, colour in COLOURS.items():
        if name != "hairline":
            assert contrast(getattr(colour, side), theme["paper"]) >= 4.5, name
