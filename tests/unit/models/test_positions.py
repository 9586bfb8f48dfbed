"""Counting positions, and the sines, tables and turns that stand for them.

Legend: B batch, T positions, D width, H heads, K width of a head, L longest length.
"""

import math

import pytest
import torch
from torch import Tensor

from headstart.models.inputs import Text
from headstart.models.positions import (
    LearnedPositions,
    RotaryPositions,
    SinusoidalPositions,
    count_positions,
    rotate,
    sinusoids,
)


def count(
    length: int, is_token: list[list[int]] | None = None, document: list[list[int]] | None = None
) -> list[list[int]]:
    num_rows = len(is_token or document or [[]])
    text = Text(
        torch.zeros(num_rows, length, dtype=torch.long),
        None if is_token is None else torch.tensor(is_token, dtype=torch.bool),
        None if document is None else torch.tensor(document),
    )
    return count_positions(text).tolist()


def turned(vector_K: Tensor, position: int) -> Tensor:
    """One query or key, turned by its position."""
    rotation = RotaryPositions(64, len(vector_K))(torch.tensor([[position]]))
    return rotate(vector_K[None, None, None], rotation)[0, 0, 0]


def test_plain_text_counts_from_zero():
    assert count(4) == [[0, 1, 2, 3]]


def test_padding_on_the_left_moves_no_position():
    assert count(5, is_token=[[0, 0, 1, 1, 1]])[0][2:] == [0, 1, 2]


def test_padding_on_the_right_moves_no_position():
    assert count(5, is_token=[[1, 1, 1, 0, 0]])[0][:3] == [0, 1, 2]


def test_packed_documents_each_count_from_zero():
    assert count(7, document=[[0, 0, 0, 1, 2, 2, 2]]) == [[0, 1, 2, 0, 0, 1, 2]]


def test_document_numbers_may_fall_and_skip():
    assert count(5, document=[[9, 9, 4, 4, 6]]) == [[0, 1, 0, 1, 0]]


def test_packed_and_padded_documents_count_real_pieces():
    rows = count(
        6,
        is_token=[[0, 1, 1, 1, 1, 0], [1, 1, 0, 0, 1, 1]],
        document=[[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1]],
    )
    assert rows[0][1:5] == [0, 1, 0, 1]
    assert rows[1][:2] + rows[1][4:] == [0, 1, 0, 1]


@pytest.mark.parametrize("is_token", [[[0] * 6], [[0, 0, 0, 0, 0, 1]], [[1, 0, 0, 0, 0, 0]]])
def test_padding_too_has_a_position_that_tables_know(is_token):
    assert all(0 <= position < 6 for position in count(6, is_token=is_token)[0])


@pytest.mark.parametrize("width", [8, 7])
def test_sinusoids_follow_the_formula(width):
    table_LD = sinusoids(50, width)
    assert table_LD.shape == (50, width)
    for position in (0, 1, 7, 49):
        for column in range(width):
            wave = math.cos if column % 2 else math.sin
            angle = position / 10_000 ** (2 * (column // 2) / width)
            assert table_LD[position, column].item() == pytest.approx(wave(angle), abs=1e-9)


def test_sinusoids_of_late_positions_are_exact_to_single_precision():
    table_LD = SinusoidalPositions(5_000, 4).table_LD
    expected = [math.sin(4_999), math.cos(4_999), math.sin(49.99), math.cos(49.99)]
    assert table_LD[4_999].tolist() == pytest.approx(expected, abs=1e-6)


def test_likeness_of_sinusoids_depends_on_distance_only():
    table_LD = sinusoids(60, 16)
    likeness_LL = table_LD @ table_LD.T
    for distance in (0, 1, 5, 20):
        diagonal = likeness_LL.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal))


def test_sinusoids_of_near_positions_are_more_alike_than_of_far_ones():
    table_LD = sinusoids(60, 16)
    likeness_L = table_LD @ table_LD[0]
    assert likeness_L[0] > likeness_L[1] > likeness_L[2] > likeness_L[30]


def test_sinusoidal_positions_are_added():
    hidden_BTD, position_BT = torch.randn(2, 3, 8), torch.tensor([[0, 1, 2], [5, 0, 9]])
    added_BTD = SinusoidalPositions(10, 8)(hidden_BTD, position_BT) - hidden_BTD
    expected_BTD = sinusoids(10, 8)[position_BT].float()
    torch.testing.assert_close(added_BTD, expected_BTD, atol=1e-6, rtol=0)


def test_sinusoidal_and_rotary_positions_hold_nothing_learned_nor_saved():
    for positions in (SinusoidalPositions(10, 8), RotaryPositions(10, 8)):
        assert not list(positions.parameters())
        assert not positions.state_dict()


def test_learned_positions_are_added_from_their_table():
    positions, position_BT = LearnedPositions(10, 8), torch.tensor([[3, 0, 9]])
    added_BTD = positions(torch.zeros(1, 3, 8), position_BT)
    assert torch.equal(added_BTD[0], positions.table.weight[[3, 0, 9]])


def test_rotary_turns_pairs_of_halves_counterclockwise():
    # With a head of four, column 0 pairs with 2 and turns by 1 a position, 1 with 3 by 0.01.
    ahead = turned(torch.tensor([1.0, 0.0, 0.0, 0.0]), 2)
    expected = torch.tensor([math.cos(2), 0.0, math.sin(2), 0.0])
    torch.testing.assert_close(ahead, expected, atol=1e-6, rtol=0)
    across = turned(torch.tensor([0.0, 0.0, 0.0, 1.0]), 3)
    expected = torch.tensor([0.0, -math.sin(0.03), 0.0, math.cos(0.03)])
    torch.testing.assert_close(across, expected, atol=1e-6, rtol=0)


def test_rotary_leaves_the_first_position_and_every_length_alone():
    vector_K = torch.randn(8, generator=torch.Generator().manual_seed(0))
    assert torch.equal(turned(vector_K, 0), vector_K)
    assert turned(vector_K, 41).norm().item() == pytest.approx(vector_K.norm().item(), rel=1e-5)


@pytest.mark.parametrize("distance", [0, 1, 13])
def test_rotary_products_depend_on_distance_only(distance):
    query_K, key_K = torch.randn(2, 8, generator=torch.Generator().manual_seed(1))
    products = [
        (turned(query_K, position + distance) @ turned(key_K, position)).item()
        for position in (0, 1, 17, 50)
    ]
    assert products == pytest.approx([products[0]] * 4, abs=1e-5)


def test_rotary_products_tell_ahead_from_behind():
    query_K, key_K = torch.randn(2, 8, generator=torch.Generator().manual_seed(1))
    ahead = turned(query_K, 5) @ turned(key_K, 2)
    behind = turned(query_K, 2) @ turned(key_K, 5)
    assert abs(ahead - behind) > 0.1


def test_rotation_keeps_the_precision_of_what_it_turns():
    assert turned(torch.ones(8, dtype=torch.bfloat16), 3).dtype == torch.bfloat16
