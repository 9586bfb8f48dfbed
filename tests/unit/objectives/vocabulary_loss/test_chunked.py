"""The chunked cross-entropy is the plain one, whatever the shapes, types and chunks."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from headstart.objectives.vocabulary_loss import chunked
from headstart.objectives.vocabulary_loss.chunked import position_losses, summed_loss

WIDTH = 5


def made_up(num_positions: int, num_pieces: int, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    hidden_ND, weight_VD, bias_V = (
        draw(num_positions, WIDTH),
        draw(num_pieces, WIDTH),
        draw(num_pieces),
    )
    target_N = torch.randint(num_pieces, (num_positions,), generator=generator)
    return [part.to(dtype).requires_grad_() for part in (hidden_ND, weight_VD, bias_V)], target_N


def plain_loss(hidden_ND, weight_VD, bias_V, target_N, label_smoothing=0.0):
    logits_NV = F.linear(hidden_ND, weight_VD, bias_V)
    return F.cross_entropy(logits_NV, target_N, reduction="sum", label_smoothing=label_smoothing)


def is_small(monkeypatch):
    monkeypatch.setattr(chunked, "NUM_PLAIN_BYTES", 1 << 20)


def is_large(monkeypatch):
    # Chunks of three rows of 48 pieces in double precision.
    monkeypatch.setattr(chunked, "NUM_PLAIN_BYTES", -1)
    monkeypatch.setattr(chunked, "NUM_CHUNK_BYTES", 3 * 48 * 8)


def gradients(loss, inputs):
    return torch.autograd.grad(loss, inputs)


@pytest.fixture(autouse=True, params=[is_small, is_large], ids=lambda case: case.__name__)
def _size(request, monkeypatch):
    request.param(monkeypatch)


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    num_positions=st.integers(1, 20),
    num_pieces=st.integers(1, 100),
    label_smoothing=st.sampled_from([0.0, 0.1]),
    has_bias=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_loss_and_gradients_equal_the_plain_form(
    num_positions, num_pieces, label_smoothing, has_bias, seed
):
    inputs, target_N = made_up(num_positions, num_pieces, seed=seed)
    inputs = inputs if has_bias else inputs[:2]
    given_inputs = inputs if has_bias else [*inputs, None]
    ours = summed_loss(*given_inputs, target_N, label_smoothing=label_smoothing)
    theirs = plain_loss(*given_inputs, target_N, label_smoothing)
    assert_close(ours, theirs)
    assert_close(gradients(3.0 * ours, inputs), gradients(3.0 * theirs, inputs))


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    num_positions=st.integers(1, 20),
    num_pieces=st.integers(2, 100),
    label_smoothing=st.sampled_from([0.0, 0.1]),
    seed=st.integers(0, 1000),
)
def test_a_position_counts_as_often_as_is_said_and_not_at_all_as_padding(
    num_positions, num_pieces, label_smoothing, seed
):
    inputs, target_N = made_up(num_positions, num_pieces, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    counted_N = torch.randint(3, (num_positions,), generator=generator).double()
    ours = summed_loss(*inputs, target_N, counted_N, label_smoothing=label_smoothing)
    hidden_ND, *head = inputs
    repeated = torch.arange(num_positions).repeat_interleave(counted_N.long())
    theirs = plain_loss(hidden_ND[repeated], *head, target_N[repeated], label_smoothing)
    assert_close(ours, theirs)
    assert_close(gradients(3.0 * ours, inputs), gradients(3.0 * theirs, inputs))
    with torch.no_grad():
        again = summed_loss(*inputs, target_N, counted_N, label_smoothing=label_smoothing)
    assert_close(again, theirs.detach())


@pytest.mark.parametrize("makes_gradient", [False, True])
def test_answers_are_added_in_single_precision_where_products_are_in_half(makes_gradient):
    inputs, target_N = made_up(40, 60, torch.float32)
    counted_N = torch.full((40,), 1 / 3)
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.set_grad_enabled(makes_gradient):
        ours, plain = summed_loss(*inputs, target_N, counted_N), summed_loss(*inputs, target_N)
    assert ours.dtype == torch.float32
    assert_close(3 * ours, plain, rtol=1e-6, atol=0)


def test_single_precision_at_a_large_vocabulary_is_within_a_hundred_thousandth(monkeypatch):
    # Ten rows a chunk.
    monkeypatch.setattr(chunked, "NUM_CHUNK_BYTES", 10 * 20_016 * 4)
    inputs, target_N = made_up(100, 20_001, torch.float32)
    ours, theirs = summed_loss(*inputs, target_N), plain_loss(*inputs, target_N)
    assert abs(ours - theirs) / theirs < 1e-5
    for one, other in zip(gradients(ours, inputs), gradients(theirs, inputs), strict=True):
        assert (one - other).norm() / other.norm() < 1e-5


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2)])
def test_what_is_frozen_gets_no_gradient_and_the_rest_the_same_one(wanted):
    inputs, target_N = made_up(7, 10)
    expected = gradients(plain_loss(*inputs, target_N), inputs)
    for index, part in enumerate(inputs):
        part.requires_grad_(index in wanted)
    summed_loss(*inputs, target_N).backward()
    for index, part in enumerate(inputs):
        if index in wanted:
            assert_close(part.grad, expected[index])
        else:
            assert part.grad is None


def test_no_positions_cost_nothing_and_move_nothing():
    inputs, target_N = made_up(0, 10)
    loss = summed_loss(*inputs, target_N)
    assert loss == 0
    assert all((part == 0).all() for part in gradients(loss, inputs))
    assert position_losses(*inputs, target_N).shape == (0,)


def test_losses_of_positions_sum_to_the_loss_and_have_no_gradient():
    inputs, target_N = made_up(11, 50)
    losses_N = position_losses(*inputs, target_N)
    assert_close(losses_N, F.cross_entropy(F.linear(*inputs), target_N, reduction="none").detach())
    assert not losses_N.requires_grad
    assert_close(losses_N.sum(), summed_loss(*inputs, target_N).detach())


@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
def test_evaluation_makes_no_gradient_and_the_same_loss(label_smoothing, monkeypatch):
    inputs, target_N = made_up(11, 50)
    with_gradient = summed_loss(*inputs, target_N, label_smoothing=label_smoothing)
    monkeypatch.setattr(chunked, "_Gradients", None)
    with torch.no_grad():
        loss = summed_loss(*inputs, target_N, label_smoothing=label_smoothing)
    assert_close(loss, with_gradient.detach())


def test_a_target_that_seems_impossible_has_a_finite_loss():
    hidden_ND = torch.tensor([[1.0]], requires_grad=True)
    weight_VD = torch.tensor([[500.0], [-500.0]])
    loss = summed_loss(hidden_ND, weight_VD, None, torch.tensor([1]))
    assert_close(loss, torch.tensor(1000.0))


@pytest.mark.parametrize("place", [0, 3])
def test_a_value_that_is_no_number_is_not_hidden(place):
    inputs, target_N = made_up(7, 10)
    with torch.no_grad():
        inputs[0][place] = torch.nan
    assert torch.isnan(summed_loss(*inputs, target_N))


def test_half_precision_products_have_statistics_in_single_precision():
    inputs, target_N = made_up(9, 40, torch.bfloat16)
    loss = summed_loss(*inputs, target_N)
    exact_inputs = [part.detach().double().requires_grad_() for part in inputs]
    exact = plain_loss(*exact_inputs, target_N)
    assert loss.dtype == torch.float32
    assert_close(loss.double(), exact, rtol=1e-2, atol=0)
    for half, other in zip(gradients(loss, inputs), gradients(exact, exact_inputs), strict=True):
        assert half.dtype == torch.bfloat16
        assert (half.double() - other).norm() / other.norm() < 2e-2


def test_autocast_computes_in_its_type_and_gives_gradients_in_that_of_the_weights():
    inputs, target_N = made_up(9, 40, torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = summed_loss(*inputs, target_N)
        losses_N = position_losses(*inputs, target_N)
    exact = plain_loss(*inputs, target_N)
    assert loss.dtype == torch.float32
    assert 0 < abs(loss - exact) / exact < 1e-2
    assert_close(losses_N.sum(), loss.detach())
    for ours, theirs in zip(gradients(loss, inputs), gradients(exact, inputs), strict=True):
        assert ours.dtype == torch.float32
        assert (ours - theirs).norm() / theirs.norm() < 2e-2


def test_a_graph_that_is_kept_can_be_walked_twice():
    inputs, target_N = made_up(5, 10)
    loss = summed_loss(*inputs, target_N)
    first = torch.autograd.grad(2 * loss, inputs, retain_graph=True)
    assert_close(first, torch.autograd.grad(2 * loss, inputs))


def test_answers_for_other_positions_are_refused():
    inputs, target_N = made_up(20, 300, torch.float32)
    for wrong_M in (target_N[:19], torch.cat([target_N, target_N])):
        with pytest.raises(ValueError, match=f"20 positions on cpu and answers for {len(wrong_M)}"):
            summed_loss(*inputs, wrong_M)
        with pytest.raises(ValueError, match="Give one for each position"):
            position_losses(*inputs, wrong_M)
    with pytest.raises(ValueError, match="answers for 3 on cpu"):
        summed_loss(*inputs, target_N, torch.ones(3))


def test_how_gradients_change_is_known_or_refused_and_never_left_out():
    inputs, target_N = made_up(5, 40)
    (gradient_ND, *_) = torch.autograd.grad(
        summed_loss(*inputs, target_N), inputs, create_graph=True
    )
    if chunked.is_plain(*inputs[:2]):
        gradient_ND.square().sum().backward()
        assert inputs[1].grad.norm() > 0
        return
    with pytest.raises(RuntimeError, match="differentiate twice"):
        gradient_ND.square().sum().backward()
