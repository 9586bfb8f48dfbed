"""Accuracy on the test by the number of labels, every system with its intervals."""

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from headstart.reports.comparison.record import Comparison, Score
from headstart.reports.comparison.wording import name_of
from headstart.reports.figures.direct_labels import Label, height_of, inches_of, plain, write_labels
from headstart.reports.figures.looks import Look, looks
from headstart.reports.figures.palette import COLOURS
from headstart.reports.figures.style import new_axes, show_percents
from headstart.reports.numbers import show_count

PLOT_WIDTH, LEAST_HEIGHT = 4.5, 3.7
AXES_SHARE = 0.8
# Each system stands a little beside the last, so that no interval hides another; by so much of
# the axis, and by more where there is but one number of labels; all of them by so much at most.
STEP_ASIDE, MOST_ASIDE = 0.012, 0.06
STEP_ALONE, MOST_ALONE = 0.15, 1.8
LEAST_RATIO = 2.0
# Inches between the first and the last number of labels, and between two numbers below them.
AXIS_WIDTH, AIR = 3.4, 0.08


def draw(comparison: Comparison) -> Figure | None:
    """Draws a line a system over the numbers of labels, named at its end."""
    test = comparison.verdict.test
    systems = [
        (key, rows) for key in looks(comparison) if (rows := scores_of(comparison, key, test))
    ]
    if not systems:
        return None
    look = looks(comparison)
    names = {key: name_of(comparison, key) for key, _ in systems}
    width = PLOT_WIDTH + max(inches_of(plain(name)) for name in names.values())
    height = max(LEAST_HEIGHT, height_of(len(systems)) / AXES_SHARE)
    figure, axes = new_axes(width, height, f"Accuracy on the {test} test, with 95 % intervals")
    ratio = max(max(comparison.all_sizes) / min(comparison.all_sizes), LEAST_RATIO)
    is_alone = len(comparison.all_sizes) == 1
    step, most = (STEP_ALONE, MOST_ALONE) if is_alone else (STEP_ASIDE, MOST_ASIDE)
    step = min(step, most / len(systems))
    for number, (key, rows) in enumerate(systems):
        aside = ratio ** (step * (number - (len(systems) - 1) / 2))
        draw_system(axes, rows, aside, look[key])
    finish(axes, comparison)
    labels = [Label(text=names[key], height=rows[-1].mean, look=look[key]) for key, rows in systems]
    write_labels(axes, labels, height * AXES_SHARE)
    return figure


def scores_of(comparison: Comparison, key: str, test: str) -> list[Score]:
    """Returns the accuracies of a system on one test, the fewest labels first."""
    found = (comparison.score(key, size, test) for size in comparison.all_sizes)
    return [score for score in found if score is not None]


def draw_system(axes: Axes, rows: list[Score], aside: float, look: Look) -> None:
    """Draws one system's points, moved aside by a factor, with their intervals."""
    places = [row.size * aside for row in rows]
    means = [row.mean for row in rows]
    axes.plot(
        places,
        means,
        color=look.colour,
        linestyle=look.line,
        marker=look.sign,
        markersize=5.5,
        linewidth=1.8,
    )
    for place, row in zip(places, rows, strict=True):
        if row.low is not None and row.high is not None:
            axes.plot([place] * 2, [row.low, row.high], color=look.colour, linewidth=1.3)


def finish(axes: Axes, comparison: Comparison) -> None:
    """Sets a log axis whose ticks are the numbers of labels that were tried."""
    sizes = comparison.all_sizes
    axes.set_xscale("log")
    named = named_sizes(comparison)
    axes.set_xticks(sizes, [show_count(size) if size in named else "" for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    if len(sizes) == 1:
        axes.set_xlim(sizes[0] / LEAST_RATIO, sizes[0] * LEAST_RATIO)
    show_percents(axes.yaxis)
    axes.grid(axis="y", color=COLOURS["hairline"].light, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("labelled examples to learn from" + (", log scale" if len(sizes) > 1 else ""))


def named_sizes(comparison: Comparison) -> set[int]:
    """Returns the sizes whose numbers have room on the axis; those of the networks go first."""
    sizes = comparison.all_sizes
    inches_per_fold = AXIS_WIDTH / math.log(max(sizes[-1] / sizes[0], LEAST_RATIO))
    named: set[int] = set()
    for size in (*reversed(comparison.sizes), *reversed(sizes)):
        room = min(
            (abs(math.log(size / other)) * inches_per_fold for other in named), default=AXIS_WIDTH
        )
        if room > inches_of(show_count(max((size, *named)))) + AIR:
            named.add(size)
    return named
