"""A comparison's figures show its numbers, the same bytes each time, and nothing over another."""

import itertools
import warnings

import numpy as np
import pytest

from headstart.reports.comparison.reading import comparison_of
from headstart.reports.comparison.wording import MINUS
from headstart.reports.figures import (
    COMPARISON_FIGURES,
    accuracy_by_labels,
    differences,
    learning_curves,
)
from headstart.reports.figures.direct_labels import inches_of, plain, spread
from headstart.reports.figures.looks import looks
from headstart.reports.figures.palette import COLOURS
from headstart.reports.figures.style import new_axes, render, show_percents

VARIANTS = {
    "usual": {},
    "one size, one seed": {"sizes": (250,), "seeds": 1},
    "six sizes": {"sizes": (50, 100, 200, 400, 800, 1_600)},
    "three trunks": {"trunks": ("film-en", "a$b$c", "ein sehr langer Name, der nicht endet")},
    "many trunks": {
        "sizes": (1_600,),
        "trunks": tuple(f"compact-masked-and-next-{number}-adapted" for number in range(18)),
    },
    "no lines": {"kinds": ("warm", "cold")},
    "sizes beyond": {"beyond": (2_000, 4_000, 8_000, 8_530)},
}
every_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=list(VARIANTS))
every_figure = pytest.mark.parametrize(
    "draw", COMPARISON_FIGURES.values(), ids=list(COMPARISON_FIGURES)
)


@pytest.fixture
def seen(comparison_results):
    return comparison_of(comparison_results())


@every_figure
def test_a_figure_drawn_twice_is_the_same_bytes(draw, seen):
    assert render(draw(seen), "svg") == render(draw(seen), "svg")
    assert render(draw(seen), "png") == render(draw(seen), "png")


@every_figure
@every_variant
def test_no_text_touches_another_or_leaves_the_figure(draw, variant, comparison_results):
    figure = draw(comparison_of(comparison_results(**variant)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        render(figure, "svg")
    renderer = figure._get_renderer()
    texts = [
        text
        for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))
        if text.get_visible() and text.get_text()
    ]
    # Ticks beyond the limits are made but not drawn.
    ticks = {
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for label in (tick.label1, tick.label2)
    }
    drawn = {
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        if axis.get_visible()
        for tick in axis._update_ticks()
        for label in (tick.label1,)
    }
    boxes = [
        (text.get_text(), text.get_window_extent(renderer))
        for text in texts
        if text not in ticks or text in drawn
    ]
    width, height = figure.get_size_inches() * figure.dpi
    # Letters are a little wider or narrower at each number of dots to the inch.
    slack = 0.04 * figure.dpi
    for name, box in boxes:
        assert min(box.x0, box.y0) >= -slack, name
        assert box.x1 <= width + slack, name
        assert box.y1 <= height + slack, name
    for (one, box), (other, beside) in itertools.combinations(boxes, 2):
        shared = min(box.x1, beside.x1) - max(box.x0, beside.x0)
        tall = min(box.y1, beside.y1) - max(box.y0, beside.y0)
        assert shared <= 1 or tall <= slack, (one, other)


def test_curves_go_through_the_means(seen):
    axes = learning_curves.draw(seen).axes
    assert [panel.get_title(loc="left") for panel in axes] == [
        "with 250 labels",
        "with 1,000 labels",
    ]
    curve = next(row for row in seen.curves if row.system == "warm" and row.size == 1_000)
    lines = [line.get_xydata().tolist() for line in axes[1].get_lines()]
    assert [list(point) for point in zip(curve.epochs, curve.mean, strict=True)] in lines


def test_tfidf_is_a_level_line(seen):
    level = next(row for row in seen.curves if row.system == "tfidf" and row.size == 250).mean[0]
    panel = learning_curves.draw(seen).axes[0]
    assert [level, level] in [list(line.get_ydata()) for line in panel.get_lines()]


def test_the_cold_starts_best_is_marked_and_said(seen):
    row = next(row for row in seen.reaching if row.system == "warm" and row.size == 250)
    panel = learning_curves.draw(seen).axes[0]
    crosses = [line for line in panel.get_lines() if line.get_marker() == "x"]
    assert [cross.get_xydata().tolist() for cross in crosses] == [[[row.cold_epoch, row.cold_best]]]
    said = [text.get_text() for text in panel.texts]
    assert f"cold, best {100 * row.cold_best:.1f} %" in said


def test_all_panels_have_one_scale_and_a_panel_alone_has_it_too(seen):
    panels = learning_curves.draw(seen).axes
    limits = {panel.get_ylim() for panel in panels}
    assert limits == {learning_curves.draw_panel(seen, 1_000).axes[0].get_ylim()}


def test_a_panel_ends_with_warm_and_cold_though_a_frozen_trunk_goes_on(seen):
    whole = next(row for row in seen.curves if row.system == "frozen" and row.size == 250)
    assert whole.epochs[-1] == 30
    panel = learning_curves.draw(seen).axes[0]
    drawn = [line.get_xydata().tolist() for line in panel.get_lines()]
    assert [list(point) for point in zip(whole.epochs[:12], whole.mean[:12], strict=True)] in drawn
    assert panel.get_xlim()[1] < 13


def test_bands_are_the_intervals(seen):
    curve = next(row for row in seen.curves if row.system == "cold" and row.size == 250)
    panel = learning_curves.draw(seen).axes[0]
    corners = {tuple(point) for band in panel.collections for point in band.get_paths()[0].vertices}
    for point in (*zip(curve.epochs, curve.low, strict=True), (curve.epochs[-1], curve.high[-1])):
        assert any(np.allclose(point, corner) for corner in corners)


def test_without_curves_there_is_no_figure_of_them(comparison_results):
    results = comparison_results()
    results["curves"] = [row for row in results["curves"] if row["system"] == "tfidf"]
    assert learning_curves.draw(comparison_of(results)) is None


def test_a_band_may_be_unknown(comparison_results):
    results = comparison_results(seeds=1)
    for row in results["curves"]:
        row["low"], row["high"] = [None] * len(row["mean"]), []
    panel = learning_curves.draw(comparison_of(results)).axes[0]
    assert not panel.collections


def test_accuracy_by_labels_shows_the_clean_test_on_a_log_axis(seen):
    axes = accuracy_by_labels.draw(seen).axes[0]
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["250", "1,000"]
    heights = [list(line.get_ydata()) for line in axes.get_lines()]
    for system in seen.systems:
        rows = [seen.score(system.key, size, "clean") for size in seen.sizes]
        assert [row.mean for row in rows] in heights
        assert all([row.low, row.high] in heights for row in rows)


def test_sizes_beyond_those_of_networks_are_on_the_axis(comparison_results):
    seen = comparison_of(comparison_results(beyond=(4_000,)))
    axes = accuracy_by_labels.draw(seen).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["250", "1,000", "4,000"]
    crowded = comparison_of(comparison_results(beyond=(4_000, 8_000, 8_530)))
    assert accuracy_by_labels.named_sizes(crowded) == {250, 1_000, 4_000, 8_530}
    assert (seen.sizes, seen.all_sizes) == ([250, 1_000], [250, 1_000, 4_000])


def test_every_system_is_named_in_its_colour(seen):
    axes = accuracy_by_labels.draw(seen).axes[0]
    named = {text.get_text(): text.get_color() for text in axes.texts}
    assert set(named) == {"warm", "cold", "frozen", "TF-IDF", "majority"}
    assert named["warm"] == looks(seen)["warm"].colour
    assert len(set(named.values())) == 5


def test_the_forest_has_the_primary_on_top_and_its_interval_in_points(seen):
    axes = differences.draw(seen).axes[0]
    primary = seen.differences_on("clean")[0]
    spans = [line.get_xydata().tolist() for line in axes.get_lines()]
    assert [[100 * primary.low, 0.0], [100 * primary.high, 0.0]] in spans
    bottom, top = axes.get_ylim()
    assert top < bottom
    assert axes.texts[0].get_text() == f"warm {MINUS} cold, 1,000 labels"


def test_the_ticks_of_the_forest_bear_their_sign(seen):
    axes = differences.draw(seen).axes[0]
    shown = [axes.xaxis.get_major_formatter()(points) for points in (-5.0, 0.0, 2.5)]
    assert shown == [f"{MINUS}5", "0", "+2.5"]


def test_without_differences_there_is_no_forest(comparison_results):
    results = comparison_results()
    del results["differences"]
    assert differences.draw(comparison_of(results)) is None


@pytest.mark.parametrize("seed", range(20))
def test_labels_moved_apart_keep_their_order_and_move_little(seed):
    heights = sorted(np.random.default_rng(seed).uniform(0, 1, 8))
    placed = spread(heights, 0.1)
    assert all(after - before >= 0.1 - 1e-9 for before, after in itertools.pairwise(placed))
    assert np.mean(placed) == pytest.approx(np.mean(heights))
    assert spread([0.0, 0.5, 1.0], 0.1) == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("seed", range(20))
def test_labels_stay_between_the_ends_though_they_crowd_at_one(seed):
    generator = np.random.default_rng(seed)
    heights = sorted([0.0, *generator.uniform(0.95, 1, 7), *generator.uniform(0, 0.1, 2)])
    placed = spread(heights, 0.1, 0.0, 1.0)
    assert placed[0] >= 0.05 - 1e-9
    assert placed[-1] <= 0.95 + 1e-9
    assert all(after - before >= 0.1 - 1e-9 for before, after in itertools.pairwise(placed))


def test_names_of_many_alike_stay_beside_their_axes(comparison_results):
    results = comparison_results(**VARIANTS["many trunks"])
    for row in (*results["scores"], *results["curves"]):
        if row["system"] != "majority":
            row["mean"] = np.add(np.multiply(row["mean"], 0.02), 0.85).tolist()
    seen = comparison_of(results)
    for draw in (accuracy_by_labels.draw, learning_curves.draw):
        figure = draw(seen)
        render(figure, "svg")
        (axes,) = figure.axes
        named = [text for text in axes.texts if text.get_transform() == axes.transAxes]
        assert len(named) > 30
        assert all(0 < text.get_position()[1] < 1 for text in named)


def test_names_are_never_formulas_and_long_ones_are_cut():
    assert plain("a$b$\n") == r"a\$b\$" + "\ufffd"
    assert len(plain("x" * 100)) == 44
    assert inches_of("日本") == inches_of("abcd")


# What people without one kind of cone see, from Machado and others, 2009.
SIGHTS = {
    "red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
    "none": np.eye(3).tolist(),
}
TO_XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]


def seen_colour(colour, sight):
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    xyz = np.array(TO_XYZ) @ np.clip(np.array(sight) @ linear, 0, 1) / [0.9505, 1, 1.089]
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    steps = [116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])]
    return np.array(steps)


@pytest.mark.parametrize("side", ["light", "dark"])
@pytest.mark.parametrize("sight", SIGHTS.values(), ids=[f"without {name}" for name in SIGHTS])
def test_the_four_systems_differ_for_the_colour_blind_too(side, sight, seen):
    names = [looks(seen)[key].colour_name for key in ("warm", "cold", "frozen", "tfidf")]
    colours = [seen_colour(getattr(COLOURS[name], side), sight) for name in names]
    # About five times what a trained eye can just tell apart.
    for one, other in itertools.combinations(colours, 2):
        assert np.linalg.norm(one - other) > 11


def test_many_systems_stand_side_by_side_within_the_axes(comparison_results):
    figure = accuracy_by_labels.draw(comparison_of(comparison_results(**VARIANTS["many trunks"])))
    (axes,) = figure.axes
    low, high = axes.get_xlim()
    places = [line.get_xdata()[0] for line in axes.lines if line.get_transform() != axes.transAxes]
    assert low < min(places) < max(places) < high


@pytest.mark.parametrize(
    ("low", "high", "num_digits"),
    [(0.69, 0.88, 0), (0.0, 1.0, 0), (0.84, 0.852, 1), (0.5, 0.56, 0), (0.9, 0.9004, 3)],
)
def test_a_tick_of_shares_says_where_it_stands_with_no_more_digits_than_it_needs(
    low, high, num_digits
):
    figure, axes = new_axes(4, 3, "title")
    axes.set_ylim(low, high)
    show_percents(axes.yaxis)
    figure.draw_without_rendering()
    places, labels = axes.get_yticks(), [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) > 3
    assert labels == [f"{100 * place:.{num_digits}f} %" for place in places]
    assert [float(label.split()[0]) for label in labels] == pytest.approx(100 * places, rel=1e-9)
