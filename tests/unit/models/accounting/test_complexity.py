"""Attention, recurrence and convolution side by side, and the lengths at which they cross."""

import dataclasses
import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headstart.errors import RecipeError
from headstart.models.accounting.complexity import Complexity, complexity

lengths = st.integers(1, 10**6)
widths = st.integers(1, 10**5)
kernels = st.integers(2, 10**3)


def costs(asked: Complexity) -> dict[str, float]:
    return {layer.kind: layer.operations.value for layer in asked.layers}


def layer_of(asked: Complexity, kind: str):
    return next(layer for layer in asked.layers if layer.kind == kind)


def test_the_three_kinds_stand_in_the_order_of_the_papers_table():
    kinds = [layer.kind for layer in complexity(10, 20, 3).layers]
    assert kinds == ["self-attention", "recurrent", "convolutional"]


def test_operations_at_given_numbers():
    assert costs(complexity(256, 200, 3)) == {
        "self-attention": 13_107_200,
        "recurrent": 10_240_000,
        "convolutional": 30_720_000,
    }


@given(n=lengths, d=widths, k=kernels)
def test_operations_follow_the_table_at_any_numbers(n, d, k):
    assert costs(complexity(n, d, k)) == {
        "self-attention": n * n * d,
        "recurrent": n * d * d,
        "convolutional": k * n * d * d,
    }


def test_each_cost_bears_the_formula_of_the_table():
    formulas = [layer.operations.formula for layer in complexity(10, 20, 3).layers]
    assert formulas == ["n²·d", "n·d²", "k·n·d²"]


@given(n=lengths, d=widths, k=kernels)
def test_only_recurrence_waits_for_every_position(n, d, k):
    steps = {layer.kind: layer.sequential_steps.value for layer in complexity(n, d, k).layers}
    assert steps == {"self-attention": 1, "recurrent": n, "convolutional": 1}


@given(n=lengths, d=widths)
def test_attention_connects_any_two_positions_at_once_and_recurrence_passes_them_all(n, d):
    asked = complexity(n, d, 3)
    assert layer_of(asked, "self-attention").longest_path.value == 1
    assert layer_of(asked, "recurrent").longest_path.value == n


def reach(num_layers: int, kernel: int) -> int:
    """Returns how far apart two positions may be that so many convolutions connect."""
    return num_layers * (kernel - 1)


@given(n=st.integers(2, 10**6), k=kernels)
def test_the_longest_path_of_convolution_is_the_fewest_layers_that_connect_both_ends(n, k):
    num_layers = layer_of(complexity(n, 8, k), "convolutional").longest_path.value
    assert reach(num_layers, k) >= n - 1
    assert reach(num_layers - 1, k) < n - 1


def test_a_sequence_of_one_piece_still_passes_one_layer():
    assert layer_of(complexity(1, 8, 3), "convolutional").longest_path.value == 1


@given(d=widths, k=kernels)
def test_recurrence_becomes_cheaper_at_the_named_length_and_not_one_before(d, k):
    first = complexity(1, d, k).recurrent_is_cheaper_from
    assert costs(complexity(first, d, k))["recurrent"] < first**2 * d
    before = costs(complexity(max(1, first - 1), d, k))
    assert before["self-attention"] <= before["recurrent"]


@given(d=widths, k=kernels)
def test_convolution_becomes_cheaper_at_the_named_length_and_not_one_before(d, k):
    first = complexity(1, d, k).convolution_is_cheaper_from
    assert costs(complexity(first, d, k))["convolutional"] < first**2 * d
    before = costs(complexity(max(1, first - 1), d, k))
    assert before["self-attention"] <= before["convolutional"]


@given(n=lengths, d=widths, k=kernels)
def test_the_lengths_of_crossing_do_not_depend_on_the_length_asked_about(n, d, k):
    asked, other = complexity(n, d, k), complexity(1, d, k)
    assert asked.recurrent_is_cheaper_from == other.recurrent_is_cheaper_from
    assert asked.convolution_is_cheaper_from == other.convolution_is_cheaper_from


@given(n=lengths, d=widths, k=kernels)
def test_the_cheapest_costs_no_more_than_any_other(n, d, k):
    asked = complexity(n, d, k)
    assert costs(asked)[asked.cheapest] == min(costs(asked).values())


@given(n=lengths, d=widths, k=kernels)
def test_attention_is_the_cheapest_exactly_until_recurrence_is_cheaper(n, d, k):
    assume(n != d)
    asked = complexity(n, d, k)
    assert (asked.cheapest == "self-attention") == (n < asked.recurrent_is_cheaper_from)


@pytest.mark.parametrize("kernel", [1, 0, -3])
def test_a_kernel_that_connects_nothing_is_refused(kernel):
    with pytest.raises(RecipeError, match=f"^The kernel is {kernel};.*Choose 2 or more"):
        complexity(256, 200, kernel)


@pytest.mark.parametrize(("length", "width"), [(0, 200), (-1, 200), (256, 0)])
def test_a_length_or_a_width_of_nothing_is_refused(length, width):
    with pytest.raises(RecipeError, match="it must be a whole number of at least 1"):
        complexity(length, width, 3)


def test_a_kernel_longer_than_the_sequence_connects_it_in_one_layer():
    asked = complexity(10, 8, 10**9)
    assert layer_of(asked, "convolutional").longest_path.value == 1
    assert math.isfinite(layer_of(asked, "convolutional").operations.value)


def test_a_comparison_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        complexity(10, 8, 3).length = 11
