"""The accuracy of several trunks in every way of learning: a row a trunk, the best on top."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headstart.reports.comparison.record import Comparison, Score
from headstart.reports.comparison.wording import KIND_NAMES, show_labels
from headstart.reports.figures.direct_labels import inches_of, plain
from headstart.reports.figures.looks import COLOURS_OF, SIGN_OF
from headstart.reports.figures.palette import COLOURS
from headstart.reports.figures.style import new_axes, show_percents

PLOT_WIDTH, ROW_HEIGHT, AROUND = 4.6, 0.42, 1.25
# Ways of learning stand below each other within a row, so that no interval hides another.
STEP_DOWN = 0.2


def draw(comparison: Comparison) -> Figure | None:
    """Draws the test scores with the most labels; None where there are no trunks to tell apart."""
    rows = scores_by_trunk(comparison, comparison.verdict.test)
    if len(rows) < 2:
        return None
    size, test = max(comparison.sizes), comparison.verdict.test
    title = f"Accuracy on the {test} test with {show_labels(size)}"
    width = PLOT_WIDTH + max(inches_of(plain(name)) for name in rows)
    figure, axes = new_axes(width, AROUND + ROW_HEIGHT * len(rows), title)
    kinds = list(dict.fromkeys(kind for scores in rows.values() for kind in scores))
    for row, scores in enumerate(rows.values()):
        for kind, score in scores.items():
            place = row + STEP_DOWN * (kinds.index(kind) - (len(kinds) - 1) / 2)
            draw_score(axes, score, place, kind)
    draw_line(axes, comparison.score("tfidf", size, test))
    finish(axes, rows, kinds)
    return figure


def scores_by_trunk(comparison: Comparison, test: str) -> dict[str, dict[str, Score]]:
    """Returns the scores of every trunk by the way of learning, the best trunk first."""
    size = max(comparison.sizes)
    found: dict[str, dict[str, Score]] = {}
    for system in comparison.systems:
        score = comparison.score(system.key, size, test)
        if system.trunk is not None and system.kind != "cold" and score is not None:
            found.setdefault(system.trunk, {})[system.kind] = score
    ranked = sorted(found, key=lambda name: -max(score.mean for score in found[name].values()))
    return {name: found[name] for name in ranked}


def draw_score(axes: Axes, score: Score, place: float, kind: str) -> None:
    """Draws a mean on its interval."""
    colour = COLOURS[COLOURS_OF[kind][0]].light
    if score.low is not None and score.high is not None:
        axes.plot([score.low, score.high], [place] * 2, color=colour, linewidth=1.3)
    axes.plot(score.mean, place, color=colour, marker=SIGN_OF[kind], markersize=5.5)


def draw_line(axes: Axes, tfidf: Score | None) -> None:
    """Draws what needs no trunk as a line through all rows."""
    if tfidf is not None:
        colour = COLOURS[COLOURS_OF["tfidf"][0]].light
        axes.axvline(tfidf.mean, color=colour, linestyle="--", linewidth=1.2, zorder=0)


def finish(axes: Axes, rows: dict[str, dict[str, Score]], kinds: list[str]) -> None:
    """Names the rows, puts the first on top, and says which sign is which way of learning."""
    axes.set_yticks(range(len(rows)), [plain(name) for name in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    show_percents(axes.xaxis)
    axes.grid(axis="x", color=COLOURS["hairline"].light, linewidth=0.6)
    axes.set_axisbelow(True)
    for kind in kinds:
        colour = COLOURS[COLOURS_OF[kind][0]].light
        axes.plot([], [], color=colour, marker=SIGN_OF[kind], label=KIND_NAMES[kind])
    axes.plot([], [], color=COLOURS["graphite"].light, linestyle="--", label=KIND_NAMES["tfidf"])
    axes.figure.legend(loc="outside lower center", ncols=len(kinds) + 1, frameon=False, fontsize=9)
