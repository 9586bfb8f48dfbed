"""Parameters by part, as bars."""

from matplotlib.figure import Figure

from headstart.models.accounting.ledger import Anatomy
from headstart.models.accounting.parameters import Part
from headstart.reports.figures.style import BLUE, GREY, ORANGE, new_axes
from headstart.reports.numbers import show_count, show_share


def draw(anatomy: Anatomy) -> Figure:
    """Draws a bar for each part that has parameters; a frozen trunk's bars are grey."""
    ledger = anatomy.ledger
    rows = [(name, part) for top in ledger.parts for name, part in leaves(top) if part.count]
    colours = [colour(part, is_frozen=ledger.step.is_frozen) for _, part in rows]
    title = f"{ledger.name}: {show_count(ledger.num_parameters)} parameters"
    if ledger.num_trainable != ledger.num_parameters:
        title += f", {show_count(ledger.num_trainable)} of them learning"
    figure, axes = new_axes(8, 1.4 + 0.4 * len(rows), title)
    names = [name for name, _ in rows]
    bars = axes.barh(names, [part.count for _, part in rows], color=colours)
    total = ledger.num_parameters
    labels = [f"{show_count(part.count)}  ({show_share(part.count / total)})" for _, part in rows]
    axes.bar_label(bars, labels=labels, padding=4, fontsize=9)
    axes.margins(x=0.3)
    axes.invert_yaxis()
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)
    return figure


def leaves(part: Part) -> list[tuple[str, Part]]:
    """Returns the deepest parts below a part, with names that say where they stand."""
    if not part.inside:
        return [(part.name, part)]
    return [(f"{part.name}: {row.name}", row) for row in part.inside]


def colour(part: Part, *, is_frozen: bool) -> str:
    """Returns a part's colour: the head's, the trunk's, or that of what does not learn."""
    is_head = part.prefixes[0].startswith("head.")
    if is_head:
        return ORANGE
    return GREY if is_frozen else BLUE
