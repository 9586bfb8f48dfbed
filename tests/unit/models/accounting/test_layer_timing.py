"""Three real layers, timed over lengths; exponents that were planted are found again."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.models.accounting import layer_timing
from headstart.models.accounting.layer_timing import (
    LENGTHS,
    NUM_TIMINGS,
    OPERATIONS,
    fit_exponent,
    runnable_layers,
    time_layers,
)
from headstart.models.config import LayerConfig

KINDS = ["self-attention", "recurrent", "convolutional"]
TINY_LENGTHS = (4, 8, 16, 32)
LAYER = LayerConfig(
    width=8,
    num_heads=2,
    feed_forward_width=8,
    feed_forward="relu",
    norm="layer",
    norm_place="post",
)


@pytest.fixture
def timed(monkeypatch):
    """Returns real timings over lengths so short that they take no time."""
    monkeypatch.setattr(layer_timing, "LENGTHS", TINY_LENGTHS)
    monkeypatch.setattr(layer_timing, "SECONDS_PER_POINT", 1e-4)
    points = []
    return time_layers(LAYER, 3, "cpu", lambda: points.append(1)), points


@given(exponent=st.floats(0, 4), factor=st.floats(1e-9, 1e9))
def test_a_planted_exponent_is_recovered(exponent, factor):
    costs = [factor * length**exponent for length in LENGTHS]
    assert fit_exponent(LENGTHS, costs) == pytest.approx(exponent, abs=1e-6)


@given(exponent=st.floats(0.5, 3), fixed=st.floats(1, 100))
def test_a_fixed_cost_that_shows_at_short_lengths_does_not_bend_the_exponent(exponent, fixed):
    half = len(LENGTHS) // 2
    costs = [length**exponent + (fixed if i < half else 0) for i, length in enumerate(LENGTHS)]
    assert fit_exponent(LENGTHS, costs) == pytest.approx(exponent, abs=1e-6)


def test_all_three_kinds_are_timed_at_every_length(timed):
    timings, _ = timed
    assert [layer.kind for layer in timings.layers] == KINDS
    assert timings.lengths == TINY_LENGTHS
    assert all(len(layer.seconds) == len(TINY_LENGTHS) for layer in timings.layers)


def test_every_duration_is_positive_and_finite(timed):
    timings, _ = timed
    for layer in timings.layers:
        assert all(seconds > 0 and math.isfinite(seconds) for seconds in layer.seconds)
        assert math.isfinite(layer.seen_exponent)


def test_every_point_is_reported(timed):
    timings, points = timed
    assert len(points) == len(timings.layers) * len(TINY_LENGTHS)


def test_the_number_of_points_is_known_beforehand():
    assert len(KINDS) * len(LENGTHS) == NUM_TIMINGS


def test_the_timings_say_what_was_timed(timed):
    timings, _ = timed
    assert (timings.width, timings.kernel) == (8, 3)


def test_recurrence_and_convolution_are_expected_to_grow_with_the_length(timed):
    timings, _ = timed
    expected = {layer.kind: layer.expected_exponent for layer in timings.layers}
    assert expected["recurrent"] == pytest.approx(1)
    assert expected["convolutional"] == pytest.approx(1)


def test_attention_is_expected_to_grow_faster_than_the_length_and_at_most_as_its_square(timed):
    timings, _ = timed
    expected = {layer.kind: layer.expected_exponent for layer in timings.layers}
    assert 1 < expected["self-attention"] <= 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", [2, 3])
def test_each_timed_layer_answers_for_every_position(kind, kernel):
    run = runnable_layers(LAYER, kernel, "cpu")[kind]
    result = run(torch.randn(1, 16, LAYER.width))
    result = result[0] if isinstance(result, tuple) else result
    assert sorted(result.shape) == [1, 8, 16]


@settings(deadline=None)
@given(n=st.integers(1, 10**4), d=st.integers(1, 10**4), k=st.integers(2, 99))
def test_the_expected_operations_hold_what_the_comparison_is_about_as_two_each(n, d, k):
    assert OPERATIONS["self-attention"](n, d, k) >= 2 * 2 * n**2 * d
    assert OPERATIONS["recurrent"](n, d, k) >= 2 * n * d**2
    assert OPERATIONS["convolutional"](n, d, k) == 2 * k * n * d**2
