"""Attention over heads that are padded is attention over heads as they are."""

import pytest
import torch

from headstart.models.attention import attend, attend_padded, is_too_odd
from headstart.models.masks import Visibility, causal

VISIBLE = Visibility(is_causal=False, may_attend_B1TS=causal(7)[None, None].repeat(2, 1, 1, 1))
CAUSAL = Visibility(is_causal=True, may_attend_B1TS=None)


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
