"""Attention that learns by compiled code: what the formula says, for every kind of processor.

Legend: B batch, T positions, E three times the width, H heads.
"""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headstart.models import learned_attention as module
from headstart.models.attention import SelfAttention
from headstart.models.config import LayerConfig
from headstart.models.inputs import Text
from headstart.models.learned_attention import attend_jointly, can_attend_jointly
from headstart.models.masks import Visibility, within

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
    """Returns what the compiled code should, in double precision, padding without any answer."""
    num_rows, length, triple = joint_BTE.shape
    query, key, value = (
        part.view(num_rows, length, num_heads, -1).transpose(1, 2)
        for part in joint_BTE.double().chunk(3, dim=-1)
    )
    place_T = torch.arange(length)
    num_real_B = visibility.num_real_B
    if num_real_B is None:
        num_real_B = torch.full((num_rows,), length)
    is_real_BT = place_T < num_real_B[:, None]
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
        joint_BTE.requires_grad_(),
        gradient_BTD,
        Visibility(shape["is_causal"], None, None, num_real_B if shape["is_padded"] else None),
    )


@settings(deadline=None, max_examples=60, derandomize=True, database=None)
@given(shape=SHAPES)
def test_answers_and_gradients_are_those_of_the_formula(every_kernel, shape):
    joint_BTE, gradient_BTD, visibility = drawn(shape)
    expected_BTD = by_formula(joint_BTE, shape["num_heads"], visibility)
    (expected_gradient,) = torch.autograd.grad(expected_BTD, joint_BTE, gradient_BTD.double())
    for kernels in every_kernel:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "compiled_kernels", lambda kernels=kernels: kernels)
            mixed_BTD = attend_jointly(joint_BTE, shape["num_heads"], visibility)
            (found_gradient,) = torch.autograd.grad(mixed_BTD, joint_BTE, gradient_BTD)
        torch.testing.assert_close(mixed_BTD.double(), expected_BTD, rtol=1e-4, atol=2e-5)
        torch.testing.assert_close(
            found_gradient.double(), expected_gradient.double(), rtol=1e-3, atol=2e-4
        )


def test_any_number_of_threads_gives_the_same_bits(every_kernel):
    joint_BTE = torch.randn(5, 70, 120, requires_grad=True)
    gradient_BTD = torch.randn(5, 70, 40)
    found = []
    before = torch.get_num_threads()
    try:
        for num_threads in (1, 2, 5):
            torch.set_num_threads(num_threads)
            mixed_BTD = attend_jointly(joint_BTE, 2, Visibility(True, None))
            (gradient,) = torch.autograd.grad(mixed_BTD, joint_BTE, gradient_BTD)
            found.append((mixed_BTD.detach(), gradient))
    finally:
        torch.set_num_threads(before)
    for mixed_BTD, gradient in found[1:]:
        assert torch.equal(mixed_BTD, found[0][0])
        assert torch.equal(gradient, found[0][1])


def test_a_number_that_is_none_stays_none(every_kernel):
    joint_BTE = torch.zeros(2, 20, 12)
    joint_BTE[1, 3, 0] = math.nan
    mixed_BTD = attend_jointly(joint_BTE.requires_grad_(), 1, Visibility(True, None))
    assert mixed_BTD[0].isfinite().all()
    assert mixed_BTD[1, :3].isfinite().all()
    assert mixed_BTD[1, 3].isnan().all()
    mixed_BTD.sum().backward()
    assert joint_BTE.grad[0].isfinite().all()
    assert joint_BTE.grad[1].isnan().any()


@pytest.mark.parametrize("direction", ["causal", "bidirectional"])
def test_a_layer_learns_the_same_with_it_and_without(every_kernel, monkeypatch, direction):
    config = LayerConfig(
        width=128,
        num_heads=2,
        feed_forward_width=8,
        feed_forward="relu",
        norm="layer",
        norm_place="post",
    )
    attention = SelfAttention(config)
    hidden_BTD = torch.randn(3, 11, 128)
    is_token_BT = torch.arange(11) < torch.tensor([[11], [4], [1]])
    visibility = within(Text(torch.zeros(3, 11, dtype=torch.long), is_token_BT), direction)
    found = []
    for is_compiled in (True, False):
        assert can_attend_jointly(hidden_BTD, 2, visibility) == is_compiled
        mixed_BTD = attention(hidden_BTD, visibility, None)[is_token_BT]
        found.append(
            (mixed_BTD, *torch.autograd.grad(mixed_BTD.square().sum(), [*attention.parameters()]))
        )
        monkeypatch.setattr(module, "serves_learning", lambda _hidden: False)
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_what_compiled_code_does_not_know_is_left_to_pytorch(every_kernel):
    hidden_BTD = torch.zeros(1, 4, 64)
    plain, packed = Visibility(False, None), Visibility(False, torch.ones(1, 1, 4, 4).bool())
    assert can_attend_jointly(hidden_BTD, 1, plain)
    assert can_attend_jointly(hidden_BTD, 2, Visibility(True, None))
    assert not can_attend_jointly(hidden_BTD, 2, plain)
    assert not can_attend_jointly(hidden_BTD.double(), 1, plain)
    assert not can_attend_jointly(hidden_BTD, 1, packed)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not can_attend_jointly(hidden_BTD, 1, plain)
    with torch.no_grad():
        assert not can_attend_jointly(hidden_BTD, 1, plain)
