"""Accuracy on validation by epoch, warm against cold: one panel a number of labels."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headstart.reports.comparison.record import Comparison, Curve
from headstart.reports.comparison.wording import name_of, show_labels, show_percent
from headstart.reports.figures.direct_labels import Label, height_of, inches_of, plain, write_labels
from headstart.reports.figures.looks import Look, looks
from headstart.reports.figures.palette import COLOURS
from headstart.reports.figures.style import show_percents

PLOT_WIDTH, LEAST_HEIGHT = 3.5, 3.1
MOST_COLUMNS = 3
# What axes keep of their panel's height beside title and names of the axes.
AXES_SHARE = 0.74
BAND_ALPHA = 0.16
# Bands of few seeds are wide; beyond so much of the means they are cut off by the frame.
MOST_BAND = 0.08
# Signs tell curves apart; one at each of many epochs would hide them.
MOST_SIGNS = 15
INK = "#000000"


def draw(comparison: Comparison) -> Figure | None:
    """Draws a panel for each number of labels, all of one scale; None where nothing learned."""
    sizes = sizes_with_curves(comparison)
    return panels(comparison, sizes) if sizes else None


def draw_panel(comparison: Comparison, size: int) -> Figure:
    """Draws one panel alone, of the scale that all have, for pages that are narrow."""
    return panels(comparison, [size])


def sizes_with_curves(comparison: Comparison) -> list[int]:
    """Returns the numbers of labels at which something learned, the smallest first."""
    return sorted({curve.size for curve in comparison.curves if len(curve.epochs) > 1})


def panels(comparison: Comparison, sizes: Sequence[int]) -> Figure:
    """Draws panels side by side, in as many rows as they need."""
    columns = min(MOST_COLUMNS, len(sizes))
    rows = -(-len(sizes) // columns)
    names = [end_name(comparison, curve) for curve in comparison.curves]
    width = PLOT_WIDTH + max(inches_of(plain(name)) for name in names)
    height = panel_height(comparison)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    low, high = scale(comparison)
    look = looks(comparison)
    for number, size in enumerate(sizes):
        axes = figure.add_subplot(rows, columns, number + 1)
        axes.set_ylim(low, high)
        draw_size(axes, comparison, size, look)
        if number % columns == 0:
            axes.set_ylabel("accuracy on validation")
    return figure


def panel_height(comparison: Comparison) -> float:
    """Returns the inches of a panel, the same of each: enough for the names of all its curves."""
    num_names = max(Counter(curve.size for curve in comparison.curves).values())
    return max(LEAST_HEIGHT, height_of(num_names) / AXES_SHARE)


def scale(comparison: Comparison) -> tuple[float, float]:
    """Returns the least and the greatest accuracy to show, the same in every panel."""
    shown = [within(curve, last_epoch(comparison, curve.size)) for curve in comparison.curves]
    means = [value for curve in shown for value in curve.mean]
    bands = [value for curve in shown for value in (*curve.low, *curve.high)]
    known = [value for value in bands if value is not None] or means
    low = max(min(min(known), min(means)), min(means) - MOST_BAND, 0.0)
    high = min(max(max(known), max(means)), max(means) + MOST_BAND, 1.0)
    air = 0.04 * (high - low) or 0.01
    return low - air, high + air


def draw_size(axes: Axes, comparison: Comparison, size: int, look: dict[str, Look]) -> None:
    """Draws the curves of one number of labels, each named at its end."""
    axes.set_title(f"with {show_labels(size)}", loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    show_percents(axes.yaxis)
    axes.grid(axis="y", color=COLOURS["hairline"].light, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("epoch")
    labels = []
    for whole in (curve for curve in comparison.curves if curve.size == size):
        curve = within(whole, last_epoch(comparison, size))
        if not curve.epochs:
            continue
        draw_curve(axes, curve, look[curve.system])
        labels.append(
            Label(
                text=end_name(comparison, curve),
                height=curve.mean[-1],
                look=look[curve.system],
            )
        )
    mark_cold_best(axes, comparison, size)
    write_labels(axes, labels, panel_height(comparison) * AXES_SHARE)


def last_epoch(comparison: Comparison, size: int) -> float:
    """Returns where a panel ends: warm and cold fill it, and a frozen trunk may go on beyond."""
    curves = [curve for curve in comparison.curves if curve.size == size]
    main = [curve for curve in curves if comparison.system(curve.system).kind in ("warm", "cold")]
    return max((epoch for curve in main or curves for epoch in curve.epochs), default=1.0)


def within(curve: Curve, last: float) -> Curve:
    """Returns the part of a curve up to an epoch."""
    count = sum(epoch <= last for epoch in curve.epochs)
    return replace(
        curve,
        epochs=curve.epochs[:count],
        mean=curve.mean[:count],
        low=curve.low[:count],
        high=curve.high[:count],
    )


def draw_curve(axes: Axes, curve: Curve, look: Look) -> None:
    """Draws one system: a line with its band, or a level where nothing is learned by epochs."""
    if len(curve.epochs) == 1:
        axes.axhline(curve.mean[0], color=look.colour, linestyle=look.line, linewidth=1.4)
        return
    if curve.low and curve.high:
        band = [
            (epoch, low, high)
            for epoch, low, high in zip(curve.epochs, curve.low, curve.high, strict=True)
            if low is not None and high is not None
        ]
        if band:
            epochs, lows, highs = zip(*band, strict=True)
            axes.fill_between(epochs, lows, highs, color=look.colour, alpha=BAND_ALPHA, linewidth=0)
    axes.plot(
        curve.epochs,
        curve.mean,
        color=look.colour,
        linestyle=look.line,
        marker=look.sign,
        markevery=-(-len(curve.epochs) // MOST_SIGNS),
        markersize=3.5,
        linewidth=1.8,
    )


def mark_cold_best(axes: Axes, comparison: Comparison, size: int) -> None:
    """Marks the best of the cold start, back to where a warm start was as good."""
    for row in (row for row in comparison.reaching if row.size == size):
        if comparison.system(row.system).kind != "warm":
            continue
        start = axes.get_xlim()[0] if row.epochs is None else row.epochs
        ends = [start, row.cold_epoch]
        axes.plot(ends, [row.cold_best] * 2, color=INK, linestyle=":", linewidth=1)
        axes.plot(row.cold_epoch, row.cold_best, color=INK, marker="x", markersize=6)


def end_name(comparison: Comparison, curve: Curve) -> str:
    """Returns what stands at a curve's end; a cold one also says how good it was at best."""
    name = name_of(comparison, curve.system)
    best = comparison.cold_best(curve.system, curve.size)
    return name if best is None else f"{name}, best {show_percent(best)}"
