"""The figure of several trunks has a row for each, the best on top, and every score."""

import numpy as np
import pytest

from headstart.reports.comparison.reading import comparison_of
from headstart.reports.figures.by_trunk import draw, scores_by_trunk
from headstart.reports.figures.looks import SIGN_OF
from headstart.reports.figures.style import FORMATS, render

TRUNKS = ("third", "second", "first")


@pytest.fixture
def seen(comparison_results):
    """Trunks of which each is better than the one before."""
    results = comparison_results(trunks=TRUNKS, sizes=(400, 1_600))
    worth = {trunk: number for number, trunk in enumerate(TRUNKS)}
    trunk_of = {row["key"]: row["trunk"] for row in results["systems"]}
    for row in results["scores"]:
        if trunk_of[row["system"]] is not None:
            row["mean"] = 0.7 + 0.05 * worth[trunk_of[row["system"]]]
    return comparison_of(results)


def test_the_best_trunk_is_on_top(seen):
    axes = draw(seen).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == list(scores_by_trunk(seen, seen.verdict.test)) == ["first", "second", "third"]
    low, high = axes.get_ylim()
    assert low > high


@pytest.mark.parametrize("kind", ["warm", "frozen"])
def test_every_score_with_the_most_labels_stands_in_its_row(seen, kind):
    lines = [line for line in draw(seen).axes[0].get_lines() if line.get_marker() == SIGN_OF[kind]]
    places = [np.atleast_1d(line.get_xydata())[0] for line in lines if np.size(line.get_xdata())]
    drawn = {(round(float(row)), float(mean)) for mean, row in places}
    wanted = {
        (row, seen.score(f"{kind}:{trunk}", 1_600, "clean").mean)
        for row, trunk in enumerate(reversed(TRUNKS))
    }
    assert drawn == wanted


def test_one_trunk_needs_no_figure(comparison_results):
    assert draw(comparison_of(comparison_results())) is None


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_figure_drawn_twice_is_the_same_bytes(seen, file_format):
    assert render(draw(seen), file_format) == render(draw(seen), file_format)
