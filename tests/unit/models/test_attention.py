"""Attention by other kernels is the same attention: over padded heads, and by plain products."""

import pytest
import torch

from headstart.models import attention
from headstart.models.attention import (
    MOST_KEYS_PER_WIDTH,
    attend,
    attend_padded,
    is_short_in_half,
    is_too_odd,
)
from headstart.models.inputs import Text
from headstart.models.masks import Visibility, across, aligned_bias, causal

VISIBLE = Visibility(is_causal=False, may_attend_B1TS=causal(7)[None, None].repeat(2, 1, 1, 1))
CAUSAL = Visibility(is_causal=True, may_attend_B1TS=None)
ONE_SHORTER = Text(torch.ones(2, 7, dtype=torch.long), torch.arange(7) < torch.tensor([[7], [4]]))


@pytest.mark.parametrize("visibility", [VISIBLE, CAUSAL])
@pytest.mark.parametrize("head_width", [1, 2, 5, 8])
def test_padded_heads_mix_the_same(head_width, visibility):
    torch.manual_seed(head_width)
    parts = [
        torch.randn(2, 3, 7, head_width, dtype=torch.float64, requires_grad=True) for _ in range(3)
    ]
    ours, theirs = attend_padded(*parts, visibility), attend(*parts, visibility)
    torch.testing.assert_close(ours, theirs)
    weight_BHTK = torch.randn_like(ours)
    gradients = [torch.autograd.grad((each * weight_BHTK).sum(), parts) for each in (ours, theirs)]
    torch.testing.assert_close(*gradients)


def test_a_processor_pads_nothing():
    assert not is_too_odd(torch.zeros(2, 3, 7, 5), VISIBLE)


@pytest.mark.gpu
def test_only_odd_heads_under_a_mask_are_padded_on_a_gpu():
    odd_BHTK = torch.zeros(2, 3, 7, 100, dtype=torch.bfloat16, device="cuda")
    assert is_too_odd(odd_BHTK, VISIBLE)
    assert not is_too_odd(odd_BHTK, CAUSAL)
    assert not is_too_odd(odd_BHTK.float(), VISIBLE)
    assert not is_too_odd(odd_BHTK[..., :96], VISIBLE)


def half_parts(length: int, width: int) -> list[torch.Tensor]:
    """Queries, keys and values in half precision."""
    torch.manual_seed(length)
    return [
        torch.randn(2, 3, length, width).bfloat16().requires_grad_(requires_grad=True)
        for _ in range(3)
    ]


@pytest.mark.parametrize(
    "visibility",
    [
        VISIBLE,
        CAUSAL,
        VISIBLE._replace(bias_B1TS=aligned_bias(VISIBLE.may_attend_B1TS, torch.bfloat16)),
        across(ONE_SHORTER),
        across(ONE_SHORTER)._replace(
            bias_B1TS=aligned_bias(across(ONE_SHORTER).may_attend_B1TS, torch.bfloat16)
        ),
    ],
)
def test_short_rows_in_half_precision_mix_as_in_double_within_its_rounding(visibility):
    parts = half_parts(7, 16)
    exact = [part.detach().double().requires_grad_() for part in parts]
    plain = visibility._replace(bias_B1TS=None)
    weight_BHTK = torch.randn(2, 3, 7, 16)
    ours, theirs = attend(*parts, visibility), attend(*exact, plain)
    for each in (ours, theirs):
        (each * weight_BHTK).sum().backward()
    torch.testing.assert_close(ours.double(), theirs, atol=0.02, rtol=0.02)
    for part, exact_part in zip(parts, exact, strict=True):
        error = (part.grad.double() - exact_part.grad).norm() / exact_part.grad.norm()
        assert error < 0.01


def test_only_short_rows_in_half_precision_go_by_plain_products(monkeypatch):
    taken = []
    plain = attention.attention_scores
    monkeypatch.setattr(
        attention, "attention_scores", lambda *words: taken.append(1) or plain(*words)
    )
    attend(*half_parts(7, 16), CAUSAL)
    with torch.no_grad():
        attend(*half_parts(7, 16), CAUSAL)
    assert taken == [1, 1]
    attend(*half_parts(16 * MOST_KEYS_PER_WIDTH + 1, 16), CAUSAL)
    attend(*(part.float() for part in half_parts(7, 16)), CAUSAL)
    assert taken == [1, 1]


def test_autocast_does_not_widen_the_weights_of_short_rows():
    score_BHTS = attention.attention_scores(*half_parts(7, 16)[:2], CAUSAL)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        weight_BHTS = attention.softmax_in_half(score_BHTS)
    assert weight_BHTS.dtype == torch.bfloat16
    expected = score_BHTS.double().softmax(dim=-1)
    torch.testing.assert_close(weight_BHTS.double(), expected, atol=0.004, rtol=0.004)


@pytest.mark.gpu
def test_a_gpu_never_takes_plain_products():
    on_gpu_BHTK = torch.zeros(2, 3, 7, 16, dtype=torch.bfloat16, device="cuda")
    assert not is_short_in_half(on_gpu_BHTK, on_gpu_BHTK)
