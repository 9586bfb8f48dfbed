"""The accuracy of every seed in two ways of learning, those of one draw joined by a line."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headstart.reports.comparison.wording import show_percent
from headstart.reports.figures.direct_labels import plain
from headstart.reports.figures.palette import COLOURS
from headstart.reports.figures.style import new_axes, show_percents

WIDTH_PER_WAY, MARGIN, HEIGHT = 1.9, 1.0, 3.9
COLOUR_NAMES = ("vermilion", "blue", "teal", "ochre")
# Half the width of the bar that marks a mean, and where it stands: beside the dots.
HALF_BAR, BESIDE = 0.09, 0.17
FONT_SIZE = 9


@dataclass(frozen=True, kw_only=True)
class SeedScores:
    """One way of learning and the accuracy of each seed, in the order of the seeds."""

    name: str
    accuracies: tuple[float, ...]


def draw(ways: Sequence[SeedScores], floor: float, floor_name: str) -> Figure:
    """Draws a dot a seed; below the floor nothing was learned."""
    title = f"Each of {len(ways[0].accuracies)} seeds, and the mean"
    figure, axes = new_axes(MARGIN + WIDTH_PER_WAY * len(ways), HEIGHT, title)
    for accuracies in zip(*(way.accuracies for way in ways), strict=True):
        axes.plot(
            range(len(ways)), accuracies, color=COLOURS["hairline"].light, linewidth=0.8, zorder=1
        )
    for place, way in enumerate(ways):
        draw_way(axes, way, place, COLOURS[COLOUR_NAMES[place % len(COLOUR_NAMES)]].light)
    draw_floor(axes, floor, floor_name)
    axes.set_xticks(range(len(ways)), [plain(way.name) for way in ways])
    axes.set_xlim(-0.45, len(ways) - 0.4)
    show_percents(axes.yaxis)
    axes.set_ylabel("accuracy on the test")
    return figure


def draw_way(axes: Axes, way: SeedScores, place: int, colour: str) -> None:
    """Draws the dots of one way, and a bar at their mean with its number."""
    places = [place] * len(way.accuracies)
    axes.plot(
        places, way.accuracies, color=colour, marker="o", markersize=5, linestyle="", alpha=0.75
    )
    mean = sum(way.accuracies) / len(way.accuracies)
    ends = [place + BESIDE - HALF_BAR, place + BESIDE + HALF_BAR]
    axes.plot(ends, [mean, mean], color=colour, linewidth=2.4)
    axes.text(
        ends[1] + 0.02, mean, show_percent(mean), color=colour, fontsize=FONT_SIZE, va="center"
    )


def draw_floor(axes: Axes, floor: float, name: str) -> None:
    """Draws the line below which a run has collapsed."""
    grey = COLOURS["mist"].light
    axes.axhline(floor, color=grey, linestyle=":", linewidth=1.2)
    axes.annotate(
        plain(name),
        (0.0, floor),
        xycoords=axes.get_yaxis_transform(),
        xytext=(3, 3),
        textcoords="offset points",
        color=grey,
        fontsize=FONT_SIZE,
    )
