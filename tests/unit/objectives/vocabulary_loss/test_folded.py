"""The folded cross-entropy is the plain one, whatever the shapes, types, chunks and smoothing."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from headstart.objectives.vocabulary_loss import chunked, exponentials, folded
from headstart.objectives.vocabulary_loss.chunked import position_losses, summed_loss
from headstart.objectives.vocabulary_loss.exponentials import Aim, kernel_pass, plain_pass
from headstart.objectives.vocabulary_loss.folded import folded_loss, folded_losses

# How far half precision may be from the exact form, as a share of the norm. Each logit and each
# exponential is rounded to 8 bits; errors of many pieces and positions cancel in part.
HALF_LOSS, HALF_GRADIENT = 2e-3, 1.5e-2
PIECES = [1, 2, 7, 8, 63, 64, 65, 1_000]


def made_up(num_positions, num_pieces, dtype=torch.float64, width=12, device="cpu"):
    generator = torch.Generator().manual_seed(num_pieces)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    parts = draw(num_positions, width), 0.3 * draw(num_pieces, width), draw(num_pieces)
    target_N = torch.randint(num_pieces, (num_positions,), generator=generator)
    return [part.to(device, dtype).requires_grad_() for part in parts], target_N.to(device)


def plain_loss(hidden_ND, weight_VD, bias_V, target_N, label_smoothing=0.0):
    logits_NV = F.linear(hidden_ND, weight_VD, bias_V)
    return F.cross_entropy(logits_NV, target_N, reduction="sum", label_smoothing=label_smoothing)


def exact(inputs, target_N, label_smoothing=0.0):
    """Loss and gradients in double precision, of inputs as they were rounded."""
    inputs = [part.detach().double().requires_grad_() for part in inputs]
    loss = plain_loss(*inputs, target_N, label_smoothing)
    return loss.detach(), torch.autograd.grad(loss, inputs)


def assert_near(loss, gradients, inputs, target_N, label_smoothing=0.0):
    """Holds a loss and gradients of half precision to the exact ones."""
    exact_loss, exact_gradients = exact(inputs, target_N, label_smoothing)
    assert_close(loss.detach().double(), exact_loss, rtol=HALF_LOSS, atol=1e-2)
    for ours, theirs in zip(gradients, exact_gradients, strict=True):
        distance = (ours.double() - theirs).norm()
        assert distance <= HALF_GRADIENT * theirs.norm() + 1e-2, distance / theirs.norm()


@pytest.fixture
def _small_chunks(monkeypatch):
    monkeypatch.setattr(folded, "POSITION_ALIGNMENT", 1)
    monkeypatch.setattr(folded, "NUM_CHUNK_BYTES", 3 * 64 * 8)
    monkeypatch.setattr(exponentials, "NUM_ASIDE_BYTES", 2 * 64 * 8)


@pytest.mark.usefixtures("_small_chunks")
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
@pytest.mark.parametrize("num_pieces", PIECES)
@pytest.mark.parametrize("num_positions", [1, 3, 4, 10])
def test_loss_and_gradients_equal_the_plain_form(num_positions, num_pieces, label_smoothing):
    inputs, target_N = made_up(num_positions, num_pieces)
    ours = folded_loss(*inputs, target_N, label_smoothing)
    theirs = plain_loss(*inputs, target_N, label_smoothing)
    assert_close(ours, theirs)
    assert_close(torch.autograd.grad(3.0 * ours, inputs), torch.autograd.grad(3.0 * theirs, inputs))


@pytest.mark.usefixtures("_small_chunks")
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_a_position_counts_as_often_as_is_said_and_not_at_all_as_padding(label_smoothing):
    inputs, target_N = made_up(10, 65)
    counted_N = torch.arange(10).double() % 3
    ours = folded_loss(*inputs, target_N, label_smoothing, counted_N)
    hidden_ND, *head = inputs
    repeated = torch.arange(10).repeat_interleave(counted_N.long())
    theirs = plain_loss(hidden_ND[repeated], *head, target_N[repeated], label_smoothing)
    assert_close(ours, theirs)
    assert_close(torch.autograd.grad(3.0 * ours, inputs), torch.autograd.grad(3.0 * theirs, inputs))
    each_N = folded_losses(*inputs, target_N, label_smoothing, counted_N)
    assert_close(each_N.sum(), theirs.detach())


def test_the_documents_vocabulary_in_single_precision():
    inputs, target_N = made_up(5, 50_001, torch.float32, width=20)
    loss = folded_loss(*inputs, target_N)
    exact_loss, exact_gradients = exact(inputs, target_N)
    assert_close(loss.double(), exact_loss, rtol=1e-6, atol=0)
    for ours, theirs in zip(torch.autograd.grad(loss, inputs), exact_gradients, strict=True):
        assert (ours - theirs).norm() / theirs.norm() < 1e-5


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
@pytest.mark.parametrize(("num_positions", "num_pieces"), [(300, 1_000), (16, 50_001), (40, 7)])
def test_half_precision_is_within_its_tolerance(num_positions, num_pieces, label_smoothing):
    inputs, target_N = made_up(num_positions, num_pieces, torch.bfloat16)
    loss = folded_loss(*inputs, target_N, label_smoothing)
    assert loss.dtype == torch.float32
    assert_near(loss, torch.autograd.grad(loss, inputs), inputs, target_N, label_smoothing)


def test_autocast_gives_gradients_in_the_type_of_the_weights():
    inputs, target_N = made_up(60, 500, torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = folded_loss(*inputs, target_N, 0.1)
    gradients = torch.autograd.grad(loss, inputs)
    assert [one.dtype for one in gradients] == [torch.float32] * 3
    assert_near(loss, gradients, inputs, target_N, 0.1)


def test_a_sure_answer_keeps_the_little_that_is_left_of_its_gradient():
    # The target has all but a thousandth: 1 less its probability must not be lost in rounding.
    hidden_ND = torch.full((64, 8), 1.0, dtype=torch.bfloat16, requires_grad=True)
    weight_VD = torch.zeros(16, 8, dtype=torch.bfloat16)
    weight_VD[3] = 1.25
    weight_VD.requires_grad_()
    target_N = torch.full((64,), 3)
    gradients = torch.autograd.grad(
        folded_loss(hidden_ND, weight_VD, None, target_N), [hidden_ND, weight_VD]
    )
    inputs = [part.detach().double().requires_grad_() for part in (hidden_ND, weight_VD)]
    expected = torch.autograd.grad(plain_loss(*inputs, None, target_N), inputs)
    for ours, theirs in zip(gradients, expected, strict=True):
        assert (ours.double() - theirs).norm() < 2e-2 * theirs.norm()


def test_a_bias_counts_beyond_half_precision():
    inputs, _ = made_up(4, 64, torch.float32)
    with torch.no_grad():
        inputs[0].zero_()
        inputs[2].copy_(16 + 0.01 * torch.arange(64))
    factors = folded._Factors.of(inputs[0].bfloat16(), inputs[1], inputs[2])
    seen_V = factors.table_PW[:64].float() @ factors.hidden_NW[0].float()
    assert_close(seen_V, inputs[2].detach(), rtol=0, atol=3e-4)


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2)])
def test_what_is_frozen_gets_no_gradient_and_the_rest_the_same_one(wanted):
    inputs, target_N = made_up(7, 10)
    expected = torch.autograd.grad(plain_loss(*inputs, target_N), inputs)
    for index, part in enumerate(inputs):
        part.requires_grad_(index in wanted)
    folded_loss(*inputs, target_N).backward()
    for index, part in enumerate(inputs):
        if index in wanted:
            assert_close(part.grad, expected[index])
        else:
            assert part.grad is None


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_without_a_bias_and_one_position_at_a_time(label_smoothing):
    (hidden_ND, weight_VD, _), target_N = made_up(6, 9)
    logits_NV = F.linear(hidden_ND, weight_VD)
    expected_N = F.cross_entropy(
        logits_NV, target_N, reduction="none", label_smoothing=label_smoothing
    )
    found_N = folded_losses(hidden_ND, weight_VD, None, target_N, label_smoothing)
    assert_close(found_N, expected_N.detach())
    assert not found_N.requires_grad


def test_no_positions_cost_nothing_and_move_nothing():
    inputs, target_N = made_up(0, 10)
    loss = folded_loss(*inputs, target_N, 0.1)
    assert loss == 0
    assert all((part == 0).all() for part in torch.autograd.grad(loss, inputs))


def test_a_target_that_seems_impossible_has_a_finite_loss():
    hidden_ND = torch.tensor([[1.0]], requires_grad=True)
    weight_VD = torch.tensor([[500.0], [-500.0]])
    loss = folded_loss(hidden_ND, weight_VD, None, torch.tensor([1]))
    assert_close(loss, torch.tensor(1000.0))
    assert_close(torch.autograd.grad(loss, hidden_ND)[0], torch.tensor([[1000.0]]))


@pytest.mark.parametrize("place", [0, 3])
def test_a_value_that_is_no_number_is_not_hidden(place):
    inputs, target_N = made_up(7, 10)
    with torch.no_grad():
        inputs[0][place] = torch.nan
    assert torch.isnan(folded_loss(*inputs, target_N))


def test_a_processor_needs_no_kernel_and_one_that_cannot_be_made_is_told_of_once(
    monkeypatch, caplog
):
    kernel_pass.cache_clear()
    monkeypatch.setattr(exponentials.torch, "zeros", failing)
    assert kernel_pass() is None
    assert kernel_pass() is None
    assert len(caplog.records) == 1
    assert "no kernel here" in caplog.text
    kernel_pass.cache_clear()


def failing(*_args, **_settings):
    raise RuntimeError("no such device")


# From here on a CUDA device is needed: `python -m pytest -m gpu`.


@pytest.mark.gpu
@pytest.mark.parametrize("certainty", [1.0, 0.9])
@pytest.mark.parametrize(
    "num_pieces", [1, 7, 8, 16, 255, 8_192, 8_193, 16_384, 30_001, 50_001, 131_073]
)
def test_the_kernel_does_what_pytorch_does(num_pieces, certainty):
    torch.manual_seed(num_pieces)
    num_columns = folded.aligned(num_pieces, folded.PIECE_ALIGNMENT)
    logits_CP = (4 * torch.randn(33, num_columns, device="cuda")).bfloat16()
    # Far above all before it: late in a row, in its first block, and at its very end.
    logits_CP[1, num_pieces // 2], logits_CP[2, 0], logits_CP[3, num_pieces - 1] = 300, 300, 90
    logits_CP[4] = -200
    target_C = torch.randint(num_pieces, (33,), device="cuda")
    target_C[3] = num_pieces - 1
    other_CP = logits_CP.clone()
    make_pass = kernel_pass()
    assert make_pass is not None
    loss_C, scale_C = make_pass(logits_CP, target_C, Aim(num_pieces, certainty))
    expected_C, other_scale_C = plain_pass(other_CP, target_C, Aim(num_pieces, certainty))
    assert_close(loss_C, expected_C, rtol=1e-5, atol=1e-4)
    ours, theirs = (
        power_CP.double() * each_C.double()[:, None]
        for power_CP, each_C in ((logits_CP, scale_C), (other_CP, other_scale_C))
    )
    assert_close(ours, theirs, rtol=2**-6, atol=1e-6)
    assert (logits_CP[:, num_pieces:] == 0).all()


@pytest.mark.gpu
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
@pytest.mark.parametrize("shape", [(2_000, 50_001, 200), (700, 37_000, 512)])
def test_a_gpu_is_within_the_same_tolerance(shape, label_smoothing):
    num_positions, num_pieces, width = shape
    inputs, target_N = made_up(num_positions, num_pieces, torch.float32, width, "cuda")
    with torch.no_grad():
        inputs[1] *= (12 / width) ** 0.5
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = summed_loss(*inputs, target_N, label_smoothing=label_smoothing)
        losses_N = position_losses(*inputs, target_N)
    assert_near(loss, torch.autograd.grad(loss, inputs), inputs, target_N, label_smoothing)
    assert_close(losses_N.sum().double(), exact(inputs, target_N)[0], rtol=HALF_LOSS, atol=0)


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", ["none", "pass"])
def test_a_recorded_loss_is_that_of_what_is_read_then(kernel, monkeypatch):
    if kernel == "none":
        monkeypatch.setattr(exponentials, "kernel_pass", lambda: None)
    inputs, target_N = made_up(500, 20_001, torch.bfloat16, 64, "cuda")
    monkeypatch.setattr(folded, "NUM_CHUNK_BYTES", 128 * 20_032 * 2)
    new, new_target_N = made_up(500, 20_001, torch.bfloat16, 64, "cuda")
    with torch.no_grad():
        for part in new:
            part.mul_(0.5)
    expected = torch.autograd.grad(folded_loss(*new, new_target_N), new)
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        found = torch.autograd.grad(folded_loss(*inputs, target_N), inputs)
    with torch.no_grad():
        for part, other in zip(inputs, new, strict=True):
            part.copy_(other)
    target_N.copy_(new_target_N)
    graph.replay()
    torch.cuda.synchronize()
    assert_close(found, expected, rtol=1e-2, atol=1e-3)


@pytest.mark.gpu
def test_a_gpu_takes_this_form_in_half_precision_only():
    hidden_ND = torch.zeros(3, 4, device="cuda")
    assert not chunked.is_folded(hidden_ND)
    assert chunked.is_folded(hidden_ND.bfloat16())
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert chunked.is_folded(hidden_ND)
    with torch.autocast("cuda", dtype=torch.float16):
        assert not chunked.is_folded(hidden_ND)
