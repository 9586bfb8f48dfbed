"""The compiled pass over a chunk of logits: losses and gradients of the formula.

Legend: C positions, V pieces, P pieces and padding.
"""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from headstart.objectives.vocabulary_loss import chunked
from headstart.objectives.vocabulary_loss.compiled_pass import CompiledPass, pass_kernels

# What rounding a gradient to half precision may change of it.
HALF_STEP = 2.0**-8


def padded(logits_CV):
    """Returns logits as chunks have them, with what nobody should read behind."""
    padding = -len(logits_CV[0]) % chunked.ROW_ALIGNMENT
    return F.pad(logits_CV, (0, padding), value=math.nan)


def by_formula(logits_CV, bias_V, target_C, counted_C, label_smoothing):
    """Returns losses, their gradients by the logits, and by the bias, in double precision."""
    score_CV = logits_CV.double().requires_grad_()
    shifted_CV = score_CV if bias_V is None else score_CV + bias_V.double()
    loss_C = F.cross_entropy(
        shifted_CV, target_C, reduction="none", label_smoothing=label_smoothing
    )
    loss_C = loss_C if counted_C is None else loss_C * counted_C.double()
    (gradient_CV,) = torch.autograd.grad(loss_C.sum(), score_CV)
    return loss_C.detach(), gradient_CV, gradient_CV.sum(0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    num_rows=st.integers(1, 9),
    num_pieces=st.integers(1, 130),
    scale=st.sampled_from([0.1, 3.0, 60.0]),
    label_smoothing=st.sampled_from([0.0, 0.1]),
    has_bias=st.booleans(),
    is_counted=st.booleans(),
    seed=st.integers(0, 999),
)
def test_losses_and_gradients_are_those_of_the_formula(
    every_kernel, dtype, num_rows, num_pieces, scale, label_smoothing, has_bias, is_counted, seed
):
    generator = torch.Generator().manual_seed(seed)
    logits_CV = (scale * torch.randn(num_rows, num_pieces, generator=generator)).to(dtype)
    bias_V = torch.randn(num_pieces, generator=generator) if has_bias else None
    target_C = torch.randint(num_pieces, (num_rows,), generator=generator)
    counted_C = torch.randint(3, (num_rows,), generator=generator) if is_counted else None
    answers = target_C, counted_C
    loss_C, gradient_CV, bias_gradient_V = by_formula(logits_CV, bias_V, *answers, label_smoothing)
    for kernels in every_kernel:
        each = CompiledPass(kernels, bias_V, num_pieces, label_smoothing)
        found_CP = padded(logits_CV)
        sums_TV = each.new_bias_gradients(found_CP)
        found_C = each.differentiate(found_CP, *answers, sums_TV)
        assert_close(found_C.double(), loss_C, rtol=1e-5, atol=1e-5 * scale)
        step = HALF_STEP if dtype == torch.bfloat16 else 0
        found_CV = found_CP[:, :num_pieces].double()
        assert_close(found_CV, gradient_CV, rtol=step + 1e-4, atol=1e-5)
        # Added up before anything is rounded to half precision.
        assert_close(sums_TV.sum(0).double(), bias_gradient_V, rtol=1e-4, atol=1e-4)
        counts = 1 if counted_C is None else counted_C
        assert_close(each.losses(padded(logits_CV), target_C) * counts, found_C)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("num_threads", [1, 2, 3])
def test_as_many_threads_as_there_are_share_the_rows(every_kernel, dtype, num_threads, monkeypatch):
    torch.manual_seed(0)
    logits_CV, target_C = torch.randn(7, 50).to(dtype), torch.randint(50, (7,))
    monkeypatch.setattr(torch, "get_num_threads", lambda: num_threads)
    for kernels in every_kernel:
        each = CompiledPass(kernels, None, 50, 0.0)
        found_CP = padded(logits_CV)
        sums_TV = each.new_bias_gradients(found_CP)
        assert len(sums_TV) == num_threads
        found_C = each.differentiate(found_CP, target_C, None, sums_TV)
        loss_C, _, bias_gradient_V = by_formula(logits_CV, None, target_C, None, 0.0)
        assert_close(found_C.double(), loss_C, rtol=1e-5, atol=1e-5)
        assert_close(sums_TV.sum(0).double(), bias_gradient_V, rtol=1e-4, atol=1e-4)


def test_half_precision_is_rounded_to_the_nearest_even(every_kernel):
    torch.manual_seed(0)
    logits_CV, target_C = torch.randn(40, 500), torch.randint(500, (40,))
    for kernels in every_kernel:
        single_CP, half_CP = padded(logits_CV.bfloat16().float()), padded(logits_CV.bfloat16())
        each = CompiledPass(kernels, None, 500, 0.0)
        for found_CP in (single_CP, half_CP):
            each.differentiate(found_CP, target_C, None, None)
        assert torch.equal(single_CP[:, :500].bfloat16(), half_CP[:, :500])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_no_number_is_not_hidden_and_stays_in_its_row(every_kernel, dtype):
    for kernels in every_kernel:
        each = CompiledPass(kernels, None, 20, 0.0)
        found_CP = padded(torch.zeros(3, 20, dtype=dtype))
        found_CP[1, 17] = math.nan
        loss_C = each.differentiate(found_CP, torch.zeros(3, dtype=torch.long), None, None)
        assert loss_C.isnan().tolist() == [False, True, False]
        assert found_CP[1, :20].isnan().all()
        assert found_CP[[0, 2], :20].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_impossible_piece_takes_nothing(every_kernel, dtype):
    for kernels in every_kernel:
        each = CompiledPass(kernels, None, 3, 0.0)
        found_CP = padded(torch.tensor([[0.0, -math.inf, 0.0]], dtype=dtype))
        loss_C = each.differentiate(found_CP, torch.tensor([2]), None, None)
        assert_close(loss_C, torch.tensor([math.log(2)]))
        assert found_CP[0, :3].tolist() == [0.5, 0.0, -0.5]


@pytest.mark.parametrize("target", [-100, 20])
def test_a_target_that_is_no_piece_is_refused(every_kernel, target):
    each = CompiledPass(every_kernel[0], None, 20, 0.0)
    with pytest.raises(IndexError, match=f"{target}"):
        each.losses(padded(torch.zeros(2, 20)), torch.tensor([3, target]))


@pytest.mark.parametrize("is_half", [False, True])
def test_with_compiled_code_all_comes_out_as_without(every_kernel, is_half, monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr(chunked, "NUM_PLAIN_BYTES", -1)
    monkeypatch.setattr(chunked, "NUM_CHUNK_BYTES", 7 * 1_008 * 4)
    inputs = [torch.randn(shape, requires_grad=True) for shape in ((20, 8), (1_000, 8), (1_000,))]
    target_N = torch.randint(1_000, (20,))
    found = []
    for kernels in (None, *every_kernel):
        monkeypatch.setattr(chunked, "pass_kernels", lambda *_, kernels=kernels: kernels)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_half):
            loss = chunked.summed_loss(*inputs, target_N, label_smoothing=0.1)
        found.append((loss, *torch.autograd.grad(loss, inputs)))
    # Either form rounds logits to half precision, at another place.
    step = 2e-2 if is_half else 1e-5
    for with_kernels in found[1:]:
        for one, other in zip(found[0], with_kernels, strict=True):
            assert (one - other).norm() <= step * one.norm()


def test_what_compiled_code_does_not_know_is_left_to_pytorch(every_kernel):
    cpu = torch.device("cpu")
    assert pass_kernels(cpu, torch.float32) is not None
    assert pass_kernels(cpu, torch.bfloat16) is not None
    assert pass_kernels(cpu, torch.float64) is None
    assert pass_kernels(cpu, torch.float16) is None
    assert pass_kernels(torch.device("cuda"), torch.float32) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("usual", [torch.float64, torch.float16])
def test_what_numbers_are_by_default_changes_nothing(every_kernel, dtype, usual):
    logits_CP, target_C = padded(torch.randn(3, 20).to(dtype)), torch.tensor([0, 19, 7])
    one_pass = CompiledPass(every_kernel[0], None, 20, 0.0)
    before_C = one_pass.losses(logits_CP.clone(), target_C)
    torch.set_default_dtype(usual)
    try:
        after_C = one_pass.losses(logits_CP.clone(), target_C)
    finally:
        torch.set_default_dtype(torch.float32)
    assert after_C.dtype == torch.float32
    assert torch.equal(before_C, after_C)
