"""Paired differences with their intervals, the primary question first: a forest plot."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headstart.reports.comparison.record import Comparison, Difference
from headstart.reports.comparison.wording import (
    MINUS,
    show_difference,
    show_interval,
    show_labels,
    show_p,
    show_pair,
)
from headstart.reports.figures.direct_labels import inches_of, plain
from headstart.reports.figures.looks import looks
from headstart.reports.figures.palette import COLOURS

FONT_SIZE = 9
# Inches. The layout is made by hand: columns of text beside axes are more than the engine can do.
PLOT_WIDTH, ROW_HEIGHT, ABOVE, BELOW, MARGIN = 3.0, 0.28, 0.7, 0.6, 0.12
NAME_GAP, BOLD_WIDENS = 0.1, 1.08
# Where each column of numbers ends, from the right of the axes.
COLUMNS = {"points": 0.65, "95 % interval": 1.85, "p": 2.5, "corrected p": 3.4}


def draw(comparison: Comparison) -> Figure | None:
    """Draws a row a difference in accuracy on the verdict's test; None where there are none."""
    rows = comparison.differences_on(comparison.verdict.test)
    if not rows:
        return None
    axes = new_plot(max(inches_of(row_name(comparison, row)) for row in rows), places(rows)[-1] + 1)
    look = looks(comparison)
    for place, row in zip(places(rows), rows, strict=True):
        draw_row(axes, row, place, look[row.to].colour)
        write_row(axes, comparison, row, place)
    for name, inches in COLUMNS.items():
        write(axes, 1 + inches / PLOT_WIDTH, -0.95, name, is_strong=False)
    finish(axes, rows)
    figure = axes.figure
    assert isinstance(figure, Figure)
    title = f"Differences in accuracy on the {comparison.verdict.test} test, in points"
    height = figure.get_figheight()
    figure.text(MARGIN / figure.get_figwidth(), 1 - MARGIN / height, title, fontsize=11, va="top")
    return figure


def new_plot(name_width: float, num_rows: float) -> Axes:
    """Returns axes with room for names of so many inches on the left and for numbers beside."""
    left = MARGIN + BOLD_WIDENS * name_width + NAME_GAP
    width = left + PLOT_WIDTH + max(COLUMNS.values()) + MARGIN
    rows = ROW_HEIGHT * num_rows
    height = ABOVE + rows + BELOW
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((left / width, BELOW / height, PLOT_WIDTH / width, rows / height))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.axvline(0, color="#000000", linewidth=0.9)
    return axes


def row_name(comparison: Comparison, row: Difference) -> str:
    """Returns what a row is about."""
    return plain(f"{show_pair(comparison, row)}, {show_labels(row.size)}", 70)


def places(rows: list[Difference]) -> list[float]:
    """Returns the heights of rows, with some room below the primary and between sizes."""
    heights, height = [], 0.0
    for number, row in enumerate(rows):
        if number and (rows[number - 1].is_primary or row.size != rows[number - 1].size):
            height += 0.5
        heights.append(height)
        height += 1.0
    return heights


def draw_row(axes: Axes, row: Difference, place: float, colour: str) -> None:
    """Draws a difference as a point on its interval, in the colour of what it is against."""
    width = 2.6 if row.is_primary else 1.5
    if row.low is not None and row.high is not None:
        axes.plot([100 * row.low, 100 * row.high], [place] * 2, color=colour, linewidth=width)
    size = 8 if row.is_primary else 5.5
    axes.plot(100 * row.difference, place, color=colour, marker="o", markersize=size)


def write_row(axes: Axes, comparison: Comparison, row: Difference, place: float) -> None:
    """Writes what a row is about on its left, and its numbers on its right."""
    weight = "bold" if row.is_primary else "normal"
    axes.text(
        -NAME_GAP / PLOT_WIDTH,
        place,
        row_name(comparison, row),
        ha="right",
        va="center",
        fontsize=FONT_SIZE,
        fontweight=weight,
        transform=axes.get_yaxis_transform(),
    )
    corrected = "primary" if row.is_primary else show_p(row.p_corrected)
    shown = (show_difference(row), show_interval(row), show_p(row.p), corrected)
    for inches, text in zip(COLUMNS.values(), shown, strict=True):
        write(axes, 1 + inches / PLOT_WIDTH, place, text, is_strong=row.is_primary)


def write(axes: Axes, at: float, place: float, text: str, *, is_strong: bool) -> None:
    """Writes a cell that ends so many widths of the axes from its left."""
    axes.text(
        at,
        place,
        text,
        ha="right",
        va="center",
        fontsize=FONT_SIZE,
        fontweight="bold" if is_strong else "normal",
        transform=axes.get_yaxis_transform(),
    )


def finish(axes: Axes, rows: list[Difference]) -> None:
    """Turns the axis over, so that the first row is on top, and says which side is whose."""
    axes.set_ylim(places(rows)[-1] + 0.5, -0.5)
    axes.yaxis.set_visible(False)
    axes.grid(axis="x", color=COLOURS["hairline"].light, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.xaxis.set_major_formatter(lambda value, _: show_tick(value))
    axes.set_xlabel("points; right of 0: the first named is better")


def show_tick(points: float) -> str:
    """Returns a tick with its sign, such as "+5"."""
    return (f"{points:+g}" if points else "0").replace("-", MINUS)
