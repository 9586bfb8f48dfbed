"""Names with their signs beside what they name, none over another, instead of a legend."""

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from headstart.reports.figures.looks import Look

FONT_SIZE = 9
POINTS_PER_INCH = 72
# Beside the axes, in widths of it.
SIGN_PLACE, TEXT_PLACE = 1.035, 1.065
# Inches that a letter takes on average.
SIGN_WIDTH = 0.072
# The height of a line of text, with some air.
LINE_HEIGHT = 1.3


@dataclass(frozen=True, kw_only=True)
class Label:
    """A name, the height that it belongs to, and how that is drawn."""

    text: str
    height: float
    look: Look


def write_labels(axes: Axes, labels: Sequence[Label], height_inches: float) -> None:
    """Writes names to the right of axes of so many inches, moved apart where they would touch."""
    if not labels:
        return
    low, high = axes.get_ylim()
    line = (high - low) * height_of(1) / height_inches
    ordered = sorted(labels, key=lambda label: label.height)
    places = spread([label.height for label in ordered], line, low, high)
    for label, place in zip(ordered, places, strict=True):
        height, colour = (place - low) / (high - low), label.look.colour
        axes.plot(
            SIGN_PLACE,
            height,
            color=colour,
            marker=label.look.sign,
            markersize=4.5,
            transform=axes.transAxes,
            clip_on=False,
        )
        axes.text(
            TEXT_PLACE,
            height,
            plain(label.text),
            color=colour,
            fontsize=FONT_SIZE,
            va="center",
            transform=axes.transAxes,
        )


def height_of(num_labels: int) -> float:
    """Returns the inches that so many names take, one below the other."""
    return num_labels * FONT_SIZE * LINE_HEIGHT / POINTS_PER_INCH


def spread(
    heights: Sequence[float], gap: float, low: float = -math.inf, high: float = math.inf
) -> list[float]:
    """Returns sorted heights at least `gap` apart, each group of them around its own mean.

    Groups stay between `low` and `high`, where these leave room for all of them.
    """

    def middle(mean: float, count: int) -> float:
        return max(low + gap * count / 2, min(mean, high - gap * count / 2))

    groups: list[tuple[float, int]] = []
    for height in heights:
        mean, count = height, 1
        # A group that comes too near takes in the one below, around the mean of both.
        while (
            groups and middle(mean, count) - middle(*groups[-1]) < gap * (count + groups[-1][1]) / 2
        ):
            other_mean, other_count = groups.pop()
            mean = (mean * count + other_mean * other_count) / (count + other_count)
            count += other_count
        groups.append((mean, count))
    return [
        middle(mean, count) + gap * (number - (count - 1) / 2)
        for mean, count in groups
        for number in range(count)
    ]


def plain(text: str, length: int = 44) -> str:
    """Returns a name that is shown as it is, and not read as a formula; a long one is cut."""
    shown = "".join(sign if sign.isprintable() else "\ufffd" for sign in text)
    if len(shown) > length:
        shown = f"{shown[: length - 1]}…"
    return shown.replace("$", r"\$")


def inches_of(text: str) -> float:
    """Returns about how wide a name is; signs of the East are as wide as two."""
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)
    return SIGN_WIDTH * (len(text) + wide)
