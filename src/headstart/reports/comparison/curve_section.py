"""How each system learned: accuracy on validation, epoch by epoch."""

from collections.abc import Iterator

from headstart.reports.comparison.record import Comparison, Reaching
from headstart.reports.comparison.wording import name_of, show_labels, show_percent
from headstart.reports.figures.learning_curves import draw_panel, last_epoch, sizes_with_curves
from headstart.reports.numbers import show_count
from headstart.reports.page.document import Section
from headstart.reports.page.html import NOTHING, Html, element, escape, join, paragraph
from headstart.reports.page.inline_figure import figure_html, inline_svg
from headstart.reports.page.tables import table_html
from headstart.reports.table import Table

CAPTION = "The mean over seeds, with 95 % bands."
CAPTION_OF_CROSSES = (
    "A cross marks the cold start's best; the dotted line goes back to the epoch at which the warm "
    "start was as good."
)


def curve_section(comparison: Comparison) -> Section:
    """Returns a panel for each number of labels, and when the cold start was overtaken."""
    sizes = sizes_with_curves(comparison)
    panels = [figure_html(panel(comparison, size)) for size in sizes]
    body = NOTHING
    if panels:
        body = join(
            element("div", panels, {"class": "panels"}),
            paragraph(escape(" ".join(captions(comparison))), "note"),
            table_html(reaching_table(comparison)) if comparison.reaching else NOTHING,
        )
    return Section(title="How they learned", body=body)


def captions(comparison: Comparison) -> Iterator[str]:
    """Yields how the panels are to be read."""
    yield CAPTION
    if comparison.reaching:
        yield CAPTION_OF_CROSSES
    yield from beyond(comparison)


def beyond(comparison: Comparison) -> Iterator[str]:
    """Yields the sentence on systems that learned for longer than the panels show, if any did."""
    longer = {
        curve.system: name_of(comparison, curve.system)
        for curve in comparison.curves
        if curve.epochs[-1] > last_epoch(comparison, curve.size)
    }
    if longer:
        yield f"Beyond the last epoch shown went on: {'; '.join(longer.values())}."


def panel(comparison: Comparison, size: int) -> Html:
    """Returns the panel of one number of labels, with what it shows in words."""
    ends = [
        f"{name_of(comparison, curve.system)} ends at {show_percent(curve.mean[-1])}"
        for curve in comparison.curves
        if curve.size == size and curve.mean
    ]
    title = f"Accuracy on validation by epoch, with {show_labels(size)}"
    return inline_svg(draw_panel(comparison, size), title, "; ".join(ends) + ".")


def reaching_table(comparison: Comparison) -> Table:
    """Returns after how many epochs others were as good as the cold start ever became."""
    columns = ("system", "labels", "cold start's best", "at epoch", "as good after")
    rows = tuple(
        (
            name_of(comparison, row.system),
            show_count(row.size),
            show_percent(row.cold_best),
            f"{row.cold_epoch:.3g}",
            show_epochs(row),
        )
        for row in sorted(comparison.reaching, key=lambda row: -row.size)
    )
    return Table(
        title="Epochs to reach the cold start's best",
        columns=columns,
        rows=rows,
        numeric=frozenset(columns[1:]),
    )


def show_epochs(row: Reaching) -> str:
    """Returns how many epochs it took, and in how many seeds that was seen."""
    if row.epochs is None:
        return "not reached"
    seeds = "1 seed" if row.num_seeds_reaching == 1 else f"{row.num_seeds_reaching:,} seeds"
    return f"{row.epochs:.2g} {'epoch' if row.epochs == 1 else 'epochs'} ({seeds})"
