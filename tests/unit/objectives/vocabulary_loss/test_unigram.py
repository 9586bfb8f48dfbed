"""The logits of how common pieces are."""

import torch
from torch.testing import assert_close

from headstart.objectives.vocabulary_loss.chunked import position_losses
from headstart.objectives.vocabulary_loss.unigram import unigram_logits

COUNTS = torch.tensor([1_000_000, 0, 30, 7])


def test_shares_sum_to_one_and_keep_the_order_of_counts():
    logits_V = unigram_logits(COUNTS)
    assert_close(logits_V.exp().sum(), torch.tensor(1.0))
    assert torch.equal(logits_V.argsort(), COUNTS.argsort())
    assert logits_V.isfinite().all()


def test_a_head_that_begins_with_them_begins_at_the_entropy_of_the_corpus():
    target_N = torch.repeat_interleave(torch.arange(3), torch.tensor([60, 30, 10]))
    hidden_ND, weight_VD = torch.randn(100, 2), torch.zeros(3, 2)
    bias_V = unigram_logits(1_000 * torch.bincount(target_N))
    loss = position_losses(hidden_ND, weight_VD, bias_V, target_N).mean()
    share_V = torch.tensor([0.6, 0.3, 0.1])
    assert_close(loss, -(share_V * share_V.log()).sum(), rtol=1e-4, atol=0)
