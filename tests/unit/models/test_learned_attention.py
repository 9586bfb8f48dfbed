"""Attention that learns by compiled code: what the formula says, for every kind of processor.

Legend: B batch, T positions, E three times the width, H heads.
"""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headstart.models.learned_attention import mix, unmix
from headstart.models.masks import Visibility

SHAPES = st.fixed_dictionaries(
    {
        "num_rows": st.integers(1, 3),
        "length": st.sampled_from([1, 2, 9, 17, 49, 64, 70, 131]),
        "num_heads": st.integers(1, 3),
        "head_width": st.sampled_from([1, 4, 16, 31, 48, 50, 100]),
        "is_causal": st.booleans(),
        "is_padded": st.booleans(),
        "seed": st.integers(0, 99),
    }
)


def by_formula(joint_BTE: Tensor, num_heads: int, visibility: Visibility) -> Tensor:
    """Returns what the compiled code should, in double precision; padding has no answer.

    But the first of a row of nothing else has its own.
    """
    num_rows, length, triple = joint_BTE.shape
    query, key, value = (
        part.view(num_rows, length, num_heads, -1).transpose(1, 2)
        for part in joint_BTE.double().chunk(3, dim=-1)
    )
    place_T = torch.arange(length)
    num_real_B = visibility.num_real_B
    if num_real_B is None:
        num_real_B = torch.full((num_rows,), length)
    is_real_BT = place_T < num_real_B.clamp(min=1)[:, None]
    hidden_BTT = ~is_real_BT[:, None, :].expand(num_rows, length, length)
    if visibility.is_causal:
        hidden_BTT = hidden_BTT | (place_T[None, :] > place_T[:, None])
    scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])
    # A row that sees nothing is padding, whose answer is taken away below.
    weights = scores.masked_fill(hidden_BTT[:, None], -1e9).softmax(dim=-1)
    mixed = (weights @ value).transpose(1, 2).reshape(num_rows, length, triple // 3)
    return mixed * is_real_BT[:, :, None]


def drawn(shape: dict) -> tuple[Tensor, Tensor, Visibility]:
    """Returns queries, keys and values, a gradient of what is mixed, and what is visible."""
    generator = torch.Generator().manual_seed(shape["seed"])
    num_rows, length = shape["num_rows"], shape["length"]
    width = shape["num_heads"] * shape["head_width"]
    joint_BTE = torch.randn(num_rows, length, 3 * width, generator=generator) * 2
    gradient_BTD = torch.randn(num_rows, length, width, generator=generator)
    num_real_B = torch.randint(length + 1, (num_rows,), generator=generator)
    return (
        joint_BTE,
        gradient_BTD,
        Visibility(shape["is_causal"], None, None, num_real_B if shape["is_padded"] else None),
    )


def learned(joint_BTE, bias_E, num_heads, visibility, gradient_BTD):
    """Returns what is mixed, and the gradients of queries, keys and values and of their bias."""
    found = mix(joint_BTE.clone(), bias_E, num_heads, visibility)
    return found.mixed_BTD, *unmix(found, visibility, gradient_BTD)


@settings(deadline=None, max_examples=60, derandomize=True, database=None)
@given(shape=SHAPES, has_bias=st.booleans())
def test_answers_and_gradients_are_those_of_the_formula(every_kernel, by_kernels, shape, has_bias):
    joint_BTE, gradient_BTD, visibility = drawn(shape)
    num_heads = shape["num_heads"]
    bias_E = torch.randn(joint_BTE.shape[-1]) * has_bias
    inputs = joint_BTE.double().requires_grad_(), bias_E.double().requires_grad_()
    expected_BTD = by_formula(sum(inputs), num_heads, visibility)
    expected = expected_BTD, *torch.autograd.grad(expected_BTD, inputs, gradient_BTD.double())
    for kernels in every_kernel:
        with by_kernels(kernels):
            given_bias = bias_E if has_bias else None
            found = learned(joint_BTE, given_bias, num_heads, visibility, gradient_BTD)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one.double(), other, rtol=1e-3, atol=5e-4)
        torch.testing.assert_close(found[0].double(), expected[0], rtol=1e-4, atol=2e-5)


def test_any_number_of_threads_gives_the_same_bits(every_kernel):
    joint_BTE, bias_E, gradient_BTD = (
        torch.randn(5, 70, 120),
        torch.randn(120),
        torch.randn(5, 70, 40),
    )
    found = []
    before = torch.get_num_threads()
    try:
        for num_threads in (1, 2, 5):
            torch.set_num_threads(num_threads)
            found.append(learned(joint_BTE, bias_E, 2, Visibility(True, None), gradient_BTD))
    finally:
        torch.set_num_threads(before)
    for each in found[1:]:
        assert all(map(torch.equal, each, found[0]))


@pytest.mark.parametrize("part", ["query", "key", "value"])
def test_a_number_that_is_none_stays_none(every_kernel, part):
    joint_BTE = torch.zeros(2, 20, 12)
    joint_BTE[1, 3, ["query", "key", "value"].index(part) * 4] = math.nan
    mixed_BTD, gradient_BTE, _ = learned(
        joint_BTE, None, 1, Visibility(True, None), torch.ones(2, 20, 4)
    )
    assert mixed_BTD[0].isfinite().all()
    assert mixed_BTD[1, 3].isnan().any()
    assert gradient_BTE[0].isfinite().all()
    assert gradient_BTE[1].isnan().any()


def test_no_rows_and_no_positions_are_nothing(every_kernel):
    for num_rows, length in ((0, 5), (3, 0)):
        joint_BTE, gradient_BTD = (
            torch.zeros(num_rows, length, 12),
            torch.zeros(num_rows, length, 4),
        )
        mixed_BTD, _, bias_E = learned(joint_BTE, None, 1, Visibility(True, None), gradient_BTD)
        assert mixed_BTD.shape == (num_rows, length, 4)
        assert not bias_E.any()


def test_lengths_may_be_of_any_kind(every_kernel):
    joint_BTE, gradient_BTD = torch.randn(4, 9, 12), torch.randn(4, 9, 4)
    lengths = torch.tensor([3]).expand(4), torch.tensor([3, 0, 3, 0, 3, 0, 3, 0])[::2].int()
    one, other = (
        learned(joint_BTE, None, 1, Visibility(False, None, None, num_real_B), gradient_BTD)
        for num_real_B in lengths
    )
    assert all(map(torch.equal, one, other))
