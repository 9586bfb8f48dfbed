"""Figures of growth on log axes: points that were measured, and the line that was predicted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from headstart.reports.figures.palette import COLOURS
from headstart.reports.numbers import show_bytes, show_count, show_duration

Record = Mapping[str, Any]
LEDGER, PLAIN, OURS = "ledger", "plain", "headstart"
NAMES = {PLAIN: "the plain step", OURS: "Headstart's step"}
SIGNS = {PLAIN: ("o", "mist"), OURS: ("D", "vermilion")}
SHOWN: Mapping[str, Callable[[float], str]] = {
    "tokens_per_second": show_count,
    "peak_bytes": show_bytes,
    "seconds": show_duration,
}
# How preparing a corpus should grow.
WANTED = {"seconds": "linear", "peak_bytes": "flat"}
WIDTH, HEIGHT, NUM_COLUMNS = 8.4, 6.4, 2
# The highest value of an axis is at least so many times the lowest.
LEAST_RANGE = 8.0
MEGABYTE = 1e6


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """What an axis of a figure counts."""

    title: str
    short: str
    file: str


QUANTITIES: Mapping[str, Quantity] = {
    "tokens_per_second": Quantity(title="Tokens a second", short="tokens/s", file="speed"),
    "peak_bytes": Quantity(title="Peak memory", short="memory", file="memory"),
}


def draw_steps(record: Record, key: str) -> Figure:
    """Draws one quantity over every axis of a shape, a pair of axes each."""
    num_rows = -(-len(record["axes"]) // NUM_COLUMNS)
    figure = Figure(figsize=(WIDTH, HEIGHT * num_rows / NUM_COLUMNS), layout="constrained")
    title = f"{QUANTITIES[key].title} of a whole training step, log axes"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    for number, (axis, part) in enumerate(record["axes"].items(), start=1):
        axes = figure.add_subplot(num_rows, NUM_COLUMNS, number)
        draw_axis(axes, part, key)
        finish(axes, axis, part["values"], key)
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def draw_axis(axes: Axes, part: Record, key: str) -> None:
    """Draws the ledger's line, and the points that were measured, with their exponents."""
    values, points = part["values"], part["points"]
    axes.plot(
        values,
        [point[LEDGER][key] for point in points],
        color=COLOURS["blue"].light,
        linewidth=1.4,
        label="the ledger, of the plain step",
    )
    for form, (sign, colour) in SIGNS.items():
        axes.plot(
            values,
            [point[form][key] for point in points],
            color=COLOURS[colour].light,
            marker=sign,
            markersize=5,
            linestyle="",
            label=NAMES[form],
        )
    exponents = part["exponents"][key]
    shown = ", ".join(f"{exponents[form]:+.2f}" for form in (LEDGER, PLAIN, OURS))
    axes.set_title(f"ledger, plain, Headstart: {shown}", loc="left", fontsize=9)


def draw_preparing(record: Record) -> Figure:
    """Draws the time and the memory of preparing a corpus by its size."""
    figure = Figure(figsize=(WIDTH, HEIGHT / NUM_COLUMNS), layout="constrained")
    figure.suptitle("Preparing a corpus, log axes", x=0.01, ha="left", fontsize=11)
    sizes = [point["num_bytes"] / MEGABYTE for point in record["points"]]
    for number, (key, wanted) in enumerate(WANTED.items(), start=1):
        axes = figure.add_subplot(1, NUM_COLUMNS, number)
        costs = [point[key] for point in record["points"]]
        # Through the last point, which fixed costs bend least.
        power = 1 if wanted == "linear" else 0
        line = [costs[-1] * (size / sizes[-1]) ** power for size in sizes]
        axes.plot(sizes, line, color=COLOURS["blue"].light, linewidth=1.4, label=wanted)
        axes.plot(sizes, costs, color=COLOURS["vermilion"].light, marker="D", linestyle="")
        finish(axes, "MB of text", [round(size) for size in sizes], key)
        axes.set_title(f"power {record['exponents'][key]:+.2f}", loc="left", fontsize=9)
        axes.legend(frameon=False, fontsize=9)
    return figure


def finish(axes: Axes, name: str, values: list[int], key: str) -> None:
    """Sets log axes with the values that were tried as ticks, and units that people read."""
    axes.set_xscale("log", base=2)
    # Whole units of bytes are powers of two.
    axes.set_yscale("log", base=2 if key == "peak_bytes" else 10)
    if key != "peak_bytes":
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    low, high = axes.get_ylim()
    # What hardly changes should look so.
    aside = max(1.0, (LEAST_RANGE * low / high) ** 0.5)
    axes.set_ylim(low / aside, high * aside)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: SHOWN[key](value)))
    axes.set_xticks(values, [short_count(value) for value in values])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(color=COLOURS["hairline"].light, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(name)


def short_count(value: int) -> str:
    """Returns a power of two as it is spoken of, such as "256 k"."""
    return f"{value >> 10} k" if value >= 1_024 and value % 1_024 == 0 else f"{value:,}"
