"""Attention by other kernels is the same attention: over padded heads, and by plain products."""

import math

import pytest
import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.attention import SDPBackend

from headstart.models import attention
from headstart.models.attention import (
    MOST_KEYS_PER_WIDTH,
    attend,
    attend_padded,
    attention_weights,
    cudnn_may_fail,
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


@pytest.mark.parametrize(
    ("length", "is_told"), [(63, False), (64, True), (72, False), (128, False), (192, True)]
)
def test_cudnn_is_kept_from_masked_rows_that_leave_half_a_tile_empty(length, is_told):
    masked = CAUSAL._replace(is_causal=False, may_attend_B1TS=causal(length)[None, None])
    with FakeTensorMode():
        on_gpu_BHTK = torch.empty(2, 3, length, 64, device="cuda", requires_grad=True)
        assert cudnn_may_fail(on_gpu_BHTK, on_gpu_BHTK, masked) == is_told
        assert not cudnn_may_fail(on_gpu_BHTK, on_gpu_BHTK, CAUSAL)
        assert not cudnn_may_fail(on_gpu_BHTK.detach(), on_gpu_BHTK, masked)
    assert not cudnn_may_fail(torch.zeros(2, 3, length, 64), torch.zeros(2, 3, length, 64), masked)


def test_kernels_are_kept_away_from_compiled_code_too(monkeypatch):
    ways = []

    def noted(graph, _examples):
        ways.append({str(node.target) for node in graph.graph.nodes})
        return make_boxed_func(graph.forward)

    monkeypatch.setattr(attention, "KERNELS_BESIDE_CUDNN", [SDPBackend.MATH])
    monkeypatch.setattr(attention, "cudnn_may_fail", lambda _query, key, _: key.shape[2] == 8)
    backend = aot_autograd(fw_compiler=noted)
    compiled = torch.compile(attend, dynamic=True, fullgraph=True, backend=backend)
    for length in (7, 8):
        parts = [torch.randn(2, 3, length, 16) for _ in range(3)]
        torch.testing.assert_close(compiled(*parts, CAUSAL), attend(*parts, CAUSAL))
    [free, kept] = [any("flash_attention" in name for name in way) for way in ways]
    assert (free, kept) == (True, False)


@pytest.mark.gpu
@pytest.mark.parametrize("length", [64, 128, 192])
def test_gradients_of_low_scores_are_finite_and_true_on_a_gpu(length):
    torch.manual_seed(length)
    query, key, value = torch.randn(3, 2, 4, length, 64, device="cuda").mul_(0.1).bfloat16()
    # Every score is about -120, which is where cuDNN's gradients of queries become NaN.
    query[..., 0], key[..., 0] = 1, -120 * math.sqrt(64)
    masked = Visibility(is_causal=False, may_attend_B1TS=causal(length)[None, None].cuda())
    parts = [part.requires_grad_() for part in (query, key, value)]
    exact = [part.detach().double().requires_grad_() for part in parts]
    ours = attend(*parts, masked)
    theirs = attention_weights(*exact[:2], masked) @ exact[2]
    weight_BHTK = torch.randn_like(theirs)
    for each in (ours, theirs):
        (each * weight_BHTK).sum().backward()
    for part, exact_part in zip(parts, exact, strict=True):
        assert part.grad.isfinite().all()
        # The first number of a query has a gradient of differences between large ones: of rounding.
        wanted = exact_part.grad[..., 1:]
        assert (part.grad.double()[..., 1:] - wanted).norm() < 0.05 * wanted.norm()
