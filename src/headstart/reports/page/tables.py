"""Tables in a page: every column and row has a header, and wide ones scroll by themselves."""

from headstart.reports.page.html import Html, element, escape, join
from headstart.reports.table import Table


def table_html(table: Table) -> Html:
    """Returns a table under its caption, its notes below; the first cell heads each row."""
    head = element("tr", [cell(table, index, "col") for index in range(len(table.columns))])
    rows = [
        element("tr", [cell(table, index, "row", text) for index, text in enumerate(row)])
        for row in table.rows
    ]
    caption = element("caption", escape(table.title))
    whole = element("table", [caption, element("thead", head), element("tbody", rows)])
    scrolling = {"class": "scroll", "role": "region", "aria-label": table.title, "tabindex": "0"}
    notes = [element("p", escape(note), {"class": "note"}) for note in table.notes]
    return join(element("div", whole, scrolling), *notes)


def cell(table: Table, index: int, scope: str, text: str | None = None) -> Html:
    """Returns one cell: a header in the first row and column, right-aligned where numeric."""
    column = table.columns[index]
    is_header = text is None or index == 0
    attributes = {"scope": scope} if is_header else {}
    if column in table.numeric:
        attributes["class"] = "number"
    shown = escape(column if text is None else text)
    return element("th" if is_header else "td", shown, attributes)
