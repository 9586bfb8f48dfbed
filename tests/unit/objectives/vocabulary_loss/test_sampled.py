"""Sampled candidates: exact where all pieces are candidates, unbiased where some are."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from headstart.errors import RecipeError
from headstart.objectives.vocabulary_loss.chunked import position_losses, summed_loss
from headstart.objectives.vocabulary_loss.sampled import (
    CandidateSampler,
    inclusion_probabilities,
    sampled_loss,
)

NUM_PIECES, NUM_POSITIONS, WIDTH = 200, 12, 4


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def counts(num_pieces=NUM_PIECES):
    # As in a text: the rank times the count is about the same for all, and some never occur.
    return (1000 / torch.arange(1, num_pieces + 1)).floor() * (torch.arange(num_pieces) % 7 > 0)


def made_up(seed=0):
    draw = generator(seed)
    inputs = [
        torch.randn(shape, generator=draw, dtype=torch.float64).requires_grad_()
        for shape in [(NUM_POSITIONS, WIDTH), (NUM_PIECES, WIDTH), (NUM_PIECES,)]
    ]
    return inputs, torch.randint(NUM_PIECES, (NUM_POSITIONS,), generator=draw)


@pytest.mark.parametrize("has_bias", [True, False])
def test_with_every_piece_a_candidate_the_loss_is_exact(has_bias):
    inputs, target_N = made_up()
    inputs = inputs if has_bias else inputs[:2]
    given_inputs = inputs if has_bias else [*inputs, None]
    candidates = CandidateSampler(counts(), NUM_PIECES).draw(target_N, generator())
    ours, exact = sampled_loss(*given_inputs, candidates), summed_loss(*given_inputs, target_N)
    assert_close(ours, exact)
    for one, other in zip(
        torch.autograd.grad(ours, inputs), torch.autograd.grad(exact, inputs), strict=True
    ):
        assert_close(one.to_dense(), other)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), num_negatives=st.integers(1, 2 * NUM_PIECES))
def test_targets_are_always_candidates_and_count_in_full(seed, num_negatives):
    target_N = torch.randint(NUM_PIECES, (NUM_POSITIONS,), generator=generator(seed))
    candidates = CandidateSampler(counts(), num_negatives).draw(target_N, generator(seed))
    id_C = candidates.id_C
    assert torch.equal(id_C[candidates.target_place_N], target_N)
    assert torch.equal(id_C, id_C.unique())
    assert (candidates.correction_C[candidates.target_place_N] == 0).all()
    assert (candidates.correction_C >= 0).all()


def test_the_sum_of_exponentials_is_unbiased():
    inputs, target_N = made_up()
    hidden_ND, weight_VD, bias_V = (part.detach() for part in inputs)
    logits_NV = hidden_ND @ weight_VD.T + bias_V
    sampler, draw = CandidateSampler(counts(), 40), generator()
    estimates = []
    for _ in range(4_000):
        candidates = sampler.draw(target_N, draw)
        scores_NC = logits_NV[:, candidates.id_C] + candidates.correction_C
        estimates.append(scores_NC.exp().sum(1))
    drawn_SN = torch.stack(estimates)
    error_N = drawn_SN.std(0) / len(drawn_SN) ** 0.5
    exact_N = logits_NV.exp().sum(1)
    assert ((drawn_SN.mean(0) - exact_N).abs() < 4.5 * error_N).all()
    # The bound says something: a draw that left out what it has not seen would be found.
    assert (4.5 * error_N < 0.1 * exact_N).all()


def test_more_candidates_estimate_the_loss_better():
    inputs, target_N = made_up()
    exact = position_losses(*inputs, target_N).sum()
    errors = []
    for num_negatives in (5, 50, 150):
        sampler, draw = CandidateSampler(counts(), num_negatives), generator()
        with torch.no_grad():
            losses = [sampled_loss(*inputs, sampler.draw(target_N, draw)) for _ in range(100)]
        errors.append((torch.stack(losses) - exact).square().mean())
    assert errors[0] > errors[1] > errors[2]


def test_gradients_name_the_candidates_and_no_other_row():
    inputs, target_N = made_up()
    candidates = CandidateSampler(counts(), 30).draw(target_N, generator())
    sampled_loss(*inputs, candidates).backward()
    for table in inputs[1:]:
        assert table.grad.is_sparse
        assert torch.equal(table.grad.coalesce().indices()[0], candidates.id_C)


def test_gradients_of_two_batches_add_up():
    inputs, target_N = made_up()
    sampler = CandidateSampler(counts(), 30)
    expected = torch.zeros(NUM_PIECES, WIDTH, dtype=torch.float64)
    for seed in range(2):
        loss = sampled_loss(*inputs, sampler.draw(target_N, generator(seed)))
        expected += torch.autograd.grad(loss, inputs[1])[0].to_dense()
    for seed in range(2):
        sampled_loss(*inputs, sampler.draw(target_N, generator(seed))).backward()
    assert_close(inputs[1].grad.to_dense(), expected)


def test_a_draw_is_a_function_of_its_generator():
    sampler, (_, target_N) = CandidateSampler(counts(), 30), made_up()
    first, again, other = (sampler.draw(target_N, generator(seed)).id_C for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    torch.manual_seed(1)
    assert torch.equal(sampler.draw(target_N).id_C, first)


def test_no_targets_are_no_loss():
    inputs, _ = made_up()
    none = torch.zeros(0, dtype=torch.int64)
    candidates = CandidateSampler(counts(), 30).draw(none, generator())
    assert sampled_loss(inputs[0][:0], *inputs[1:], candidates) == 0


@settings(max_examples=100, deadline=None)
@given(
    counts=st.lists(st.integers(0, 10**6), min_size=1, max_size=50), num_expected=st.integers(1, 60)
)
def test_probabilities_have_their_sum_and_order(counts, num_expected):
    weight_V = torch.tensor(counts, dtype=torch.float64) + 1
    probability_V = inclusion_probabilities(weight_V, num_expected)
    assert (probability_V > 0).all()
    assert (probability_V <= 1).all()
    expected = torch.tensor(float(min(num_expected, len(counts))))
    assert_close(probability_V.sum(), expected, rtol=1e-4, atol=1e-4)
    # Below 1 they are in proportion to the weights.
    is_drawn_V = probability_V < 1
    ratio_R = probability_V[is_drawn_V] / weight_V[is_drawn_V].float()
    assert_close(ratio_R, ratio_R[:1].expand_as(ratio_R), rtol=1e-4, atol=0)


def test_no_negatives_are_refused():
    with pytest.raises(RecipeError, match="num_negatives is 0"):
        CandidateSampler(counts(), 0)
