"""Scores on held-out text: means over answers, however the text is cut into batches."""

import math
from dataclasses import replace

import pytest
import torch

from headstart.evaluation.language import LanguageScores, LanguageTally, score_language
from headstart.models.initialisation import initialise
from headstart.models.model import new_model
from headstart.objectives.batch import to_batch
from headstart.objectives.objective import StepRows


def batches_of(toy, name, sequences):
    store = toy.store(toy.documents(30))
    step = StepRows(length=32, sequences=sequences, seed=1)
    return [to_batch(rows, "cpu") for rows in toy.objective(name).held_out_rows(store, step)]


def test_how_the_text_is_cut_into_batches_changes_no_score(toy):
    model = toy.model("causal")
    one, other = (score_language(model, batches_of(toy, "causal", n), 0.3) for n in (1, 7))
    assert one.num_pieces == other.num_pieces
    assert one.loss == pytest.approx(other.loss, rel=1e-6)
    assert one.bits_per_byte == pytest.approx(other.bits_per_byte, rel=1e-6)


def test_dropout_is_off_while_a_model_is_scored_and_on_again_afterwards(toy):
    config = toy.recipe("causal").model
    layer = replace(config.trunk.layer, dropout=0.5)
    model = new_model(replace(config, trunk=replace(config.trunk, layer=layer)))
    initialise(model, 0)
    batches = batches_of(toy, "causal", 2)
    model.train()
    one, other = (score_language(model, batches, 0.3).loss for _ in range(2))
    assert one == other
    assert model.training


def test_scoring_keeps_no_graph_and_no_gradient(toy):
    model = toy.model("masked+next")
    score_language(model, batches_of(toy, "masked+next", 2), 0.3)
    assert all(weights.grad is None for weights in model.parameters())


def test_bits_and_perplexity_follow_from_the_loss():
    tally = LanguageTally()
    tally.piece_nats, tally.num_pieces = 80 * math.log(2), 20
    scores = tally.scores(pieces_per_byte=0.25)
    assert scores.loss == pytest.approx(4 * math.log(2))
    assert scores.perplexity == pytest.approx(16)
    assert scores.bits_per_byte == pytest.approx(1)
    assert (scores.next_loss, scores.next_accuracy, scores.num_pairs) == (None, None, 0)
    assert scores.total == scores.loss


def test_what_training_minimises_is_the_sum_of_both_losses():
    scores = LanguageScores(
        loss=2.0, num_pieces=3, bits_per_byte=1.0, next_loss=0.5, next_accuracy=0.75, num_pairs=4
    )
    assert scores.total == 2.5


def test_a_perplexity_beyond_all_numbers_is_still_one():
    scores = LanguageScores(loss=1e6, num_pieces=1, bits_per_byte=1.0)
    assert math.isfinite(scores.perplexity)


def test_accuracy_is_the_share_of_pairs_that_were_told_rightly(toy):
    model, batches = toy.model("masked+next"), batches_of(toy, "masked+next", 2)
    head = model.head.next_sentence
    with torch.no_grad():
        # A judge that always says "follows" is right as often as pairs follow.
        head.judge.output.weight.zero_()
        head.judge.output.bias.copy_(torch.tensor([5.0, -5.0]))
    scores = score_language(model, batches, 0.3)
    follows = torch.cat([batch.follows_P for batch in batches])
    assert scores.num_pairs == len(follows)
    assert scores.next_accuracy == pytest.approx((follows == 0).double().mean().item())
    share = (follows == 1).double().mean().item()
    by_hand = share * 10 + math.log1p(math.exp(-10))
    assert scores.next_loss == pytest.approx(by_hand, rel=1e-4)
