"""The figure of seeds has a dot for each, a line for each draw, and the mean of each way."""

import statistics

import numpy as np
import pytest

from headstart.reports.figures.seed_scores import SeedScores, draw
from headstart.reports.figures.style import FORMATS, render

OURS = SeedScores(name="ours", accuracies=(0.75, 0.77, 0.76))
NAIVE = SeedScores(name="naive", accuracies=(0.55, 0.74, 0.70))


@pytest.fixture
def lines():
    return draw([OURS, NAIVE], 0.62, "majority and 3 points").axes[0].get_lines()


def points(lines, marker):
    return [
        tuple(map(float, point))
        for line in lines
        if line.get_marker() == marker
        for point in zip(
            np.atleast_1d(line.get_xdata()), np.atleast_1d(line.get_ydata()), strict=True
        )
    ]


def test_every_seed_is_a_dot(lines):
    wanted = [(place, value) for place, way in enumerate((OURS, NAIVE)) for value in way.accuracies]
    assert sorted(points(lines, "o")) == sorted(wanted)


def test_the_seeds_of_one_draw_are_joined(lines):
    joined = [
        tuple(line.get_ydata()) for line in lines if len(np.atleast_1d(line.get_xdata())) == 2
    ]
    for pair in zip(OURS.accuracies, NAIVE.accuracies, strict=True):
        assert pair in joined


def test_the_means_are_written():
    axes = draw([OURS, NAIVE], 0.62, "floor").axes[0]
    texts = {text.get_text() for text in axes.texts}
    means = [statistics.mean(way.accuracies) for way in (OURS, NAIVE)]
    assert texts == {"floor", *(f"{100 * mean:.1f} %" for mean in means)}


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_figure_drawn_twice_is_the_same_bytes(file_format):
    first, second = (render(draw([OURS, NAIVE], 0.62, "floor"), file_format) for _ in range(2))
    assert first == second
