"""Every figure becomes a valid PNG and SVG, always the same bytes, and shows what is true."""

import io
import re
from xml.etree import ElementTree

import matplotlib.image
import pytest
import torch

from headstart.apps.recipes import RECIPES
from headstart.apps.recipes.compact import compact
from headstart.models.accounting.complexity import LayerTiming, LayerTimings
from headstart.models.accounting.ledger import Anatomy
from headstart.models.positions import sinusoids
from headstart.pipeline.anatomy import anatomy
from headstart.pipeline.question import Question
from headstart.pipeline.this_machine import described_machine
from headstart.reports.figures import ANATOMY_FIGURES, parameters, positions, square_mask
from headstart.reports.figures.style import render

KINDS = ("self-attention", "recurrent", "convolutional")
TIMINGS = LayerTimings(
    lengths=(128, 256, 512),
    width=8,
    kernel=3,
    layers=tuple(
        LayerTiming(kind=kind, seconds=(0.1, 0.2, 0.4), seen_exponent=1.0, expected_exponent=1.0)
        for kind in KINDS
    ),
)
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
POSITION_FIGURES = {"positions", "position-similarity"}
CAUSAL, BIDIRECTIONAL, LEARNED = "lab", "compact", "bert"


def seen(name: str, question: Question = Question(length=24)) -> Anatomy:  # noqa: B008
    ledger = anatomy(RECIPES[name](), question, described_machine(2.1, 4))
    return Anatomy(ledger=ledger, timings=TIMINGS)


every_figure = pytest.mark.parametrize("draw", ANATOMY_FIGURES.values(), ids=list(ANATOMY_FIGURES))


@every_figure
def test_a_figure_is_a_valid_png_that_is_not_blank(draw):
    data = render(draw(seen(CAUSAL)), "png")
    assert data.startswith(PNG_SIGNATURE)
    pixels = matplotlib.image.imread(io.BytesIO(data), format="png")
    assert min(pixels.shape[:2]) > 300
    assert pixels.std() > 0.01


@every_figure
def test_a_figure_is_a_valid_svg_that_draws_something(draw):
    root = ElementTree.fromstring(render(draw(seen(CAUSAL)), "svg"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(root.findall(".//{http://www.w3.org/2000/svg}path")) > 5


@every_figure
def test_an_svg_loads_nothing_from_elsewhere(draw):
    root = ElementTree.fromstring(render(draw(seen(CAUSAL)), "svg"))
    links = [
        value
        for element in root.iter()
        for name, value in element.attrib.items()
        if name.endswith(("href", "src")) and not value.startswith(("#", "data:"))
    ]
    styles = "".join(element.attrib.get("style", "") for element in root.iter())
    assert links == []
    assert not re.search(r"url\((?!['\"]?#)|@import", styles)


@every_figure
@pytest.mark.parametrize("file_format", ["png", "svg"])
def test_a_figure_drawn_twice_is_the_same_bytes(draw, file_format):
    first, second = (render(draw(seen(CAUSAL)), file_format) for _ in range(2))
    assert first == second


@every_figure
def test_rendering_a_figure_twice_changes_nothing(draw):
    figure = draw(seen(CAUSAL))
    assert render(figure, "svg") == render(figure, "svg")


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_has_every_figure_but_those_it_has_nothing_to_show_in(name):
    empty = {key for key, draw in ANATOMY_FIGURES.items() if draw(seen(name)) is None}
    assert empty == (POSITION_FIGURES if name == LEARNED else set())


def test_without_measurements_there_is_no_figure_of_them():
    unmeasured = Anatomy(ledger=seen(CAUSAL).ledger)
    empty = {key for key, draw in ANATOMY_FIGURES.items() if draw(unmeasured) is None}
    assert empty == {"complexity-measured"}


@pytest.mark.parametrize("name", [CAUSAL, "base"])
def test_the_square_mask_shows_what_came_before(name):
    image = square_mask.draw(seen(name)).axes[0].images[0].get_array()
    size = len(square_mask.PIECES)
    assert torch.equal(torch.tensor(image.data), torch.ones(size, size).tril().bool())


def test_the_mask_of_a_bidirectional_trunk_hides_padding_from_every_real_piece():
    image = square_mask.draw(seen(BIDIRECTIONAL)).axes[0].images[0].get_array()
    size = len(square_mask.PIECES)
    assert image[:size, :size].all()
    assert not image[:size, size:].any()


def test_the_mask_names_a_piece_at_every_row_and_column():
    axes = square_mask.draw(seen(CAUSAL)).axes[0]
    shown = [
        [label.get_text() for label in axis.get_ticklabels()] for axis in (axes.xaxis, axes.yaxis)
    ]
    assert shown == [list(square_mask.PIECES)] * 2


def test_the_encoding_of_lab_is_the_table_that_is_added():
    image = positions.draw_encoding(seen(CAUSAL)).axes[0].images[0].get_array()
    expected = sinusoids(24, 200).T
    assert torch.allclose(torch.as_tensor(image.data), expected)


@pytest.mark.parametrize(("name", "width"), [(CAUSAL, 200), ("base", 512)])
def test_similarity_by_distance_is_the_cosine_of_two_encodings_wherever_they_stand(name, width):
    line = positions.draw_similarity(seen(name)).axes[0].lines[-1].get_ydata()
    table_LD = sinusoids(100, width)
    for start in (0, 7, 70):
        rows = table_LD[start : start + 24]
        cosines = torch.cosine_similarity(table_LD[start], rows, dim=1)
        assert torch.allclose(torch.as_tensor(line), cosines, atol=1e-9)


@pytest.mark.parametrize("name", RECIPES)
def test_the_bars_sum_to_the_total(name):
    asked = seen(name)
    bars = parameters.draw(asked).axes[0].patches
    assert sum(bar.get_width() for bar in bars) == asked.ledger.num_parameters


def test_a_frozen_trunk_has_another_colour_than_its_head():
    frozen = seen(CAUSAL, Question(length=24, num_labels=2, is_frozen=True))
    *trunk, head = [bar.get_facecolor() for bar in parameters.draw(frozen).axes[0].patches]
    learning = parameters.draw(seen(CAUSAL)).axes[0].patches[0].get_facecolor()
    assert head not in trunk
    assert learning not in trunk


def test_predicted_complexity_is_drawn_on_log_axes_for_three_kinds():
    axes = ANATOMY_FIGURES["complexity"](seen(CAUSAL)).axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert [label.split(":")[0] for label in labels] == list(KINDS)


def test_measured_complexity_is_drawn_on_log_axes_from_the_measurements():
    axes = ANATOMY_FIGURES["complexity-measured"](seen(CAUSAL)).axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [list(line.get_ydata()) for line in axes.lines] == [[0.1, 0.2, 0.4]] * 3


@pytest.mark.parametrize("length", [1, 2, 8_192])
@every_figure
def test_a_figure_is_drawn_at_the_shortest_and_the_longest_length(draw, length):
    assert render(draw(seen(BIDIRECTIONAL, Question(length=length))), "png")


def test_rotary_positions_are_drawn_for_one_head():
    image = positions.draw_encoding(seen(BIDIRECTIONAL)).axes[0].images[0].get_array()
    assert image.shape == (compact().model.trunk.layer.head_width // 2, 24)
