"""Runs in tables and figures: what is said is what was measured."""

import io
from xml.etree import ElementTree

import matplotlib.image
import pytest

from headstart.evaluation.by_position import PositionScores
from headstart.reports.figures import loss_by_position, training_curves
from headstart.reports.figures.style import render
from headstart.reports.run_tables import language_tables, runs_table

SCORES = {
    "loss": 2.5,
    "num_pieces": 1_000,
    "bits_per_byte": 1.25,
    "next_loss": None,
    "next_accuracy": None,
    "num_pairs": 0,
}
BY_POSITION = [
    {"length": 48, "loss": 3.0, "places": [10, 40], "losses": [3.5, 2.75]},
    {"length": 96, "loss": 4.0, "places": [10, 90], "losses": [3.5, 4.5]},
]


def seen(**changes):
    return {"scores": SCORES, "trained_length": 48, "by_position": [], "beyond": ""} | changes


def cells(table):
    return {row[0]: row[1:] for row in table.rows}


def test_a_score_is_shown_with_its_unit():
    (table,) = language_tables(seen(), perplexity=12.1825)
    assert cells(table) == {
        "held-out loss": ("2.5000 nats a piece",),
        "perplexity": ("12.18",),
        "bits for each byte": ("1.2500",),
        "pieces asked for": ("1,000",),
    }


def test_pairs_have_a_row_where_there_were_any():
    scores = SCORES | {"next_accuracy": 0.75, "num_pairs": 1_200, "next_loss": 0.5}
    (table,) = language_tables(seen(scores=scores), perplexity=12.0)
    assert cells(table)["next sentence right"][0].startswith("75.0 % of 1,200 pairs, ")


def test_each_length_has_a_row_with_its_end():
    _, table = language_tables(seen(by_position=BY_POSITION, beyond="No more."), perplexity=12.0)
    assert table.rows == (("48", "1", "3.0000", "2.7500"), ("96", "2", "4.0000", "4.5000"))
    assert table.notes[-1] == "No more."


def test_why_there_are_no_lengths_is_said_all_the_same():
    (table,) = language_tables(seen(beyond="The text is too short."), perplexity=12.0)
    assert table.notes == ("The text is too short.",)


def test_runs_are_listed_with_what_is_known_of_each():
    run = {
        "folder": "runs/a",
        "recipe": "lab",
        "objective": "causal",
        "state": "stopped",
        "step": 1_500,
        "num_steps": 20_000,
        "bits_per_byte": None,
        "accuracy": None,
        "bleu": None,
        "num_bytes": 2_048,
    }
    done = run | {"folder": "runs/b", "state": "finished", "bits_per_byte": 1.5}
    judge = run | {"folder": "runs/c", "state": "finished", "accuracy": 0.7346}
    translator = run | {"folder": "runs/d", "state": "finished", "bleu": 31.456}
    table = runs_table([run, done, judge, translator])
    assert table.rows[0] == (
        "runs/a", "lab", "causal", "stopped", "1,500 of 20,000", "", "", "", "2 KiB",
    )  # fmt: skip
    assert table.rows[1][5:8] == ("1.5000", "", "")
    assert table.rows[2][5:8] == ("", "73.5 %", "")
    assert table.rows[3][5:8] == ("", "", "31.46")


LOG = [
    {"kind": "step", "step": 1, "loss": 5.0},
    {"kind": "valid", "step": 1, "total": 5.5},
    {"kind": "sample", "step": 1, "text": "le chat"},
    {"kind": "step", "step": 2, "loss": 4.0},
    {"kind": "valid", "step": 2, "total": 4.5},
]
FIGURES = {
    "curves": lambda: training_curves.draw(LOG, "How it learned"),
    "one step": lambda: training_curves.draw(LOG[:2], "How it learned"),
    "positions": lambda: loss_by_position.draw(
        [PositionScores(**row) for row in BY_POSITION], 48, "Loss by position"
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_a_png_and_an_svg_that_show_something(name):
    figure = FIGURES[name]()
    pixels = matplotlib.image.imread(io.BytesIO(render(figure, "png")), format="png")
    assert pixels.std() > 0.01
    root = ElementTree.fromstring(render(figure, "svg"))
    assert len(root.findall(".//{http://www.w3.org/2000/svg}path")) > 5


def test_curves_go_through_what_was_logged():
    lines = {line.get_label(): line for line in FIGURES["curves"]().axes[0].get_lines()}
    assert lines["held-out text"].get_xydata().tolist() == [[1, 5.5], [2, 4.5]]
    assert lines["text it learned from"].get_xydata().tolist() == [[1, 5.0], [2, 4.0]]


@pytest.mark.parametrize("count", [1, 3, 10, 60, 500])
def test_smoothing_is_a_mean_over_neighbours(count):
    points = [(step, float(step % 7)) for step in range(1, count + 1)]
    smooth = training_curves.smoothed(points)
    width = max(1, min(training_curves.NUM_SMOOTHED, count // 4))
    assert len(smooth) == count - width + 1
    for number, (step, value) in enumerate(smooth):
        stretch = points[number : number + width]
        assert value == pytest.approx(sum(loss for _, loss in stretch) / width)
        assert step == stretch[width // 2][0]


def test_each_length_is_a_line_that_ends_where_its_texts_end():
    axes = FIGURES["positions"]().axes[0]
    drawn = [line for line in axes.get_lines() if line.get_label().startswith("texts of")]
    assert [line.get_label() for line in drawn] == ["texts of 48 pieces", "texts of 96 pieces"]
    assert drawn[1].get_xydata().tolist() == [[10, 3.5], [90, 4.5]]
