"""Masks written out: a row asks, a column answers, 1 is what it may attend to."""

import pytest
import torch
from torch import Tensor

from headstart.models.attention import attend
from headstart.models.inputs import Text
from headstart.models.masks import (
    Visibility,
    across,
    aligned_bias,
    causal,
    padding,
    same_document,
    within,
)


def matrix(*rows: str) -> Tensor:
    return torch.tensor([[mark == "1" for mark in row] for row in rows])


def tokens(num_rows: int, length: int) -> Tensor:
    return torch.zeros(num_rows, length, dtype=torch.long)


def assert_may_attend(visibility: Visibility, *expected: Tensor) -> None:
    """Compares the mask of each row of the batch; it must never be causal a second time."""
    assert not visibility.is_causal
    assert visibility.may_attend_B1TS.dtype == torch.bool
    assert visibility.may_attend_B1TS.shape[1] == 1
    for row_1TS, expected_TS in zip(visibility.may_attend_B1TS, expected, strict=True):
        assert torch.equal(row_1TS[0], expected_TS)


def test_causal_mask_shows_the_past_and_itself():
    assert torch.equal(causal(4), matrix("1000", "1100", "1110", "1111"))


def test_causal_mask_of_one_position_shows_itself():
    assert torch.equal(causal(1), matrix("1"))


def test_padding_mask_shows_real_positions_to_all():
    is_token_BS = matrix("110", "011")
    assert torch.equal(padding(is_token_BS), is_token_BS.reshape(2, 1, 1, 3))


def test_document_mask_shows_each_document_to_itself():
    document_BT = torch.tensor([[0, 0, 1, 2, 2]])
    expected = matrix("11000", "11000", "00100", "00011", "00011")
    assert torch.equal(same_document(document_BT), expected[None, None])


def test_document_numbers_need_not_start_at_zero():
    assert torch.equal(same_document(torch.tensor([[7, 7, 3]]))[0, 0], matrix("110", "110", "001"))


@pytest.mark.parametrize(("direction", "is_causal"), [("causal", True), ("bidirectional", False)])
def test_plain_text_needs_no_matrix(direction, is_causal):
    assert within(Text(tokens(2, 4)), direction) == Visibility(is_causal, None)


def test_padding_attends_to_itself_and_real_positions_never_to_it():
    text = Text(tokens(2, 4), matrix("1110", "0011"))
    assert_may_attend(
        within(text, "bidirectional"),
        matrix("1110", "1110", "1110", "1111"),
        matrix("1011", "0111", "0011", "0011"),
    )


def test_causal_padding_is_both():
    text = Text(tokens(2, 4), matrix("1110", "0011"))
    assert_may_attend(
        within(text, "causal"),
        matrix("1000", "1100", "1110", "1111"),
        matrix("1000", "0100", "0010", "0011"),
    )


def test_row_of_nothing_but_padding_sees_only_itself():
    text = Text(tokens(1, 3), matrix("000"))
    assert_may_attend(within(text, "bidirectional"), matrix("100", "010", "001"))


def test_a_causal_text_needs_no_matrix_for_padding_behind_it():
    visibility = within(Text(tokens(3, 3), matrix("111", "100", "000")), "causal")
    assert visibility.is_causal
    assert visibility.may_attend_B1TS is None
    assert visibility.num_real_B.tolist() == [3, 1, 0]


def test_padding_before_or_within_a_text_is_not_counted():
    for row in ("011", "101"):
        for direction in ("causal", "bidirectional"):
            visibility = within(Text(tokens(2, 3), matrix("111", row)), direction)
            assert not visibility.is_causal
            assert visibility.may_attend_B1TS is not None
            assert visibility.num_real_B is None
    packed = Text(tokens(1, 3), matrix("110"), document_BT=torch.tensor([[0, 1, 1]]))
    assert within(packed, "causal").num_real_B is None


def test_packed_text_attends_within_its_documents():
    text = Text(tokens(1, 5), document_BT=torch.tensor([[0, 0, 1, 1, 1]]))
    both_ways = matrix("11000", "11000", "00111", "00111", "00111")
    assert_may_attend(within(text, "bidirectional"), both_ways)


def test_causal_packed_text_attends_to_the_past_of_its_documents():
    text = Text(tokens(1, 5), document_BT=torch.tensor([[0, 0, 1, 1, 1]]))
    backward = matrix("10000", "11000", "00100", "00110", "00111")
    assert_may_attend(within(text, "causal"), backward)


def test_packed_and_padded_text_obeys_both():
    text = Text(tokens(1, 5), matrix("11110"), torch.tensor([[0, 0, 1, 1, 1]]))
    both_ways = matrix("11000", "11000", "00110", "00110", "00111")
    assert_may_attend(within(text, "bidirectional"), both_ways)


@pytest.mark.parametrize("direction", ["causal", "bidirectional"])
@pytest.mark.parametrize("is_token", ["00000", "01010", "10001", "11111"])
def test_no_row_of_the_softmax_is_empty(direction, is_token):
    text = Text(tokens(1, 5), matrix(is_token), torch.tensor([[0, 0, 1, 1, 2]]))
    assert within(text, direction).may_attend_B1TS.any(dim=-1).all()


def test_source_without_padding_needs_no_matrix():
    assert across(Text(tokens(2, 4))) == Visibility(is_causal=False, may_attend_B1TS=None)


def test_target_attends_to_the_real_positions_of_its_source():
    source = Text(tokens(2, 4), matrix("1100", "0111"))
    assert_may_attend(across(source), matrix("1100"), matrix("0111"))


def test_empty_source_shows_one_position_whatever_its_padding():
    for length in (1, 2, 5):
        may_attend_B1TS = across(Text(tokens(1, length), matrix("0" * length))).may_attend_B1TS
        assert may_attend_B1TS.sum() == 1


def test_masks_leave_their_text_as_it_was():
    is_token_BT = matrix("000", "110")
    text = Text(tokens(2, 3), is_token_BT.clone(), torch.zeros(2, 3, dtype=torch.long))
    across(text)
    within(text, "causal")
    assert torch.equal(text.is_token_BT, is_token_BT)


@pytest.mark.parametrize("length", [3, 8, 13])
def test_a_bias_is_the_mask_in_numbers_and_its_rows_are_aligned(length):
    is_token_BT = torch.arange(length) >= torch.tensor([[0], [2], [length]])
    text = Text(tokens(3, length), is_token_BT)
    for visibility in (within(text, "bidirectional"), within(text, "causal"), across(text)):
        bias = aligned_bias(visibility.may_attend_B1TS, torch.float64)
        assert torch.equal(bias == 0, visibility.may_attend_B1TS)
        assert torch.equal(bias == -torch.inf, ~visibility.may_attend_B1TS)
        assert all(stride % 8 == 0 for stride in bias.stride()[:-1])
        # Never as long as the row itself, or code for any length would be made twice.
        assert bias.stride(-2) > length
        query, key, value = torch.randn(3, 3, 2, length, 4, dtype=torch.float64).unbind()
        both = [attend(query, key, value, each) for each in (visibility, biased(visibility, bias))]
        torch.testing.assert_close(both[0], both[1])


def biased(visibility: Visibility, bias: Tensor) -> Visibility:
    return visibility._replace(bias_B1TS=bias)


def test_rows_are_chosen_from_mask_and_bias_alike():
    text = Text(tokens(3, 4), torch.tensor([[True] * 4, [True] * 2 + [False] * 2, [True] * 4]))
    visibility = across(text)
    both = biased(visibility, aligned_bias(visibility.may_attend_B1TS, torch.float32))
    chosen = both.select(torch.tensor([1]))
    assert torch.equal(chosen.bias_B1TS == 0, chosen.may_attend_B1TS)
    assert chosen.bias_B1TS.shape == (1, 1, 1, 4)


def test_a_processor_needs_no_bias_to_learn_but_in_half_precision():
    text = Text(tokens(1, 3), torch.tensor([[False, True, True]]))
    visibility = within(text, "causal")
    assert visibility.ready_for(torch.zeros(1, 3, 2)) is visibility
    with torch.autocast("cpu", dtype=torch.bfloat16):
        bias_B1TS = visibility.ready_for(torch.zeros(1, 3, 2)).bias_B1TS
    assert bias_B1TS.dtype == torch.bfloat16
    assert torch.equal(bias_B1TS == 0, visibility.may_attend_B1TS)


def test_a_causal_text_has_a_bias_for_plain_products_in_half_precision():
    visibility = within(Text(tokens(2, 3), matrix("111", "110")), "causal")
    assert visibility.ready_for(torch.zeros(2, 3, 2)) is visibility
    with torch.autocast("cpu", dtype=torch.bfloat16):
        ready = visibility.ready_for(torch.zeros(2, 3, 2))
    assert torch.equal(ready.bias_B1TS[0, 0] == 0, causal(3))
    query, key, value = torch.randn(3, 2, 2, 3, 16).bfloat16().unbind()
    torch.testing.assert_close(
        attend(query, key, value, ready), attend(query, key, value, visibility)
    )
    # Rows too long for that go to the fused kernel, which masks the future by itself.
    query, key, value = torch.randn(3, 2, 2, 3, 2).double().repeat(1, 1, 1, 5, 1).unbind()
    torch.testing.assert_close(
        attend(query, key, value, ready), attend(query, key, value, visibility)
    )
