"""Labels as an objective: its loss against a plain loop, and windows that are pooled."""

import math
import random

import numpy as np
import pytest
import torch
from tiny_transfers import trunk_recipe
from torch import nn

from headstart.models.heads.config import LabelHeadConfig, ModelConfig
from headstart.models.initialisation import initialise
from headstart.models.inputs import Text
from headstart.models.model import new_model
from headstart.objectives.labels import (
    FeatureBatch,
    Labels,
    answer_weights,
    label_logits,
    to_label_batch,
    window_shares,
)


def new_classifier(num_labels, pooling="mean"):
    trunk = trunk_recipe().model.trunk
    head = LabelHeadConfig(num_labels=num_labels, pooling=pooling)
    model = new_model(ModelConfig(trunk=trunk, head=head))
    initialise(model, 1)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for weights in model.parameters():
            weights += 0.2 * torch.randn(weights.shape, generator=generator)
    return model.eval()


def rows_of(lengths, seed=0):
    draw = random.Random(seed)
    return [[draw.randrange(10, 280) for _ in range(length)] for length in lengths]


def batch_of(texts, targets):
    return to_label_batch(texts, targets, [f"text {n}" for n in range(len(texts))], "cpu")


@pytest.mark.parametrize("num_labels", [2, 3, 7])
@pytest.mark.parametrize("is_weighed", [False, True])
def test_the_loss_is_the_sum_over_texts_of_what_torch_says_of_each(num_labels, is_weighed):
    model = new_classifier(num_labels)
    texts = [[row] for row in rows_of([3, 9, 5, 1, 12])]
    targets = [number % num_labels for number in range(5)]
    weight_C = torch.linspace(0.2, 2.0, num_labels) if is_weighed else None
    loss = Labels(weight_C).loss(model, batch_of(texts, targets))
    plain = nn.CrossEntropyLoss(reduction="none")
    expected = 0.0
    for (row,), target in zip(texts, targets, strict=True):
        logits_1C = model(Text(torch.tensor([row]), None))
        factor = 1.0 if weight_C is None else float(weight_C[target])
        expected += factor * plain(logits_1C, torch.tensor([target])).item()
    assert float(loss["labels"].detach()) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("is_weighed", [False, True])
@pytest.mark.parametrize("weights", [None, (1.0, 2.5, 0.5, 1.0, 3.0)])
def test_soft_targets_cost_what_a_plain_loop_says(is_weighed, weights):
    model = new_classifier(3)
    texts = [[row] for row in rows_of([3, 9, 5, 1, 12])]
    share_NC = np.random.default_rng(2).dirichlet((1.0, 1.0, 1.0), size=5).astype(np.float32)
    names = [f"text {number}" for number in range(5)]
    batch = to_label_batch(texts, share_NC, names, "cpu", weights)
    weight_C = torch.tensor([0.5, 1.0, 2.0]) if is_weighed else None
    expected = 0.0
    for number, (row,) in enumerate(texts):
        logits = model(Text(torch.tensor([row]), None))[0].double().tolist()
        total = math.log(sum(math.exp(logit) for logit in logits))
        for label, logit in enumerate(logits):
            factor = 1.0 if weight_C is None else float(weight_C[label])
            factor *= 1.0 if weights is None else weights[number]
            expected -= factor * float(share_NC[number, label]) * (logit - total)
    loss = Labels(weight_C).loss(model, batch)["labels"]
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-5)
    assert batch.counts == {"labels": 5 if weights is None else 8.0}


@pytest.mark.parametrize("is_weighed", [False, True])
def test_targets_that_are_certain_are_hard_ones(is_weighed):
    model = new_classifier(3)
    texts, targets = [[row] for row in rows_of([3, 9, 5, 1, 12])], [0, 2, 1, 1, 0]
    weight_C = torch.tensor([0.5, 1.0, 2.0]) if is_weighed else None
    soft = batch_of(texts, np.eye(3, dtype=np.float32)[targets])
    hard = batch_of(texts, targets)
    vectors = FeatureBatch(
        vector_ND=hard.vectors(model),
        target_N=soft.target_N,
        names=soft.names,
        weights=answer_weights([1.0] * 5, "cpu"),
    )
    losses = [Labels(weight_C).loss(model, batch)["labels"] for batch in (hard, soft, vectors)]
    gradients = [torch.autograd.grad(loss, model.head.output.weight)[0] for loss in losses]
    for loss, gradient in zip(losses[1:], gradients[1:], strict=True):
        torch.testing.assert_close(loss, losses[0])
        torch.testing.assert_close(gradient, gradients[0])


def test_torchs_own_weighted_mean_is_ours_where_weights_average_one():
    model = new_classifier(3)
    targets = [0, 0, 0, 0, 1, 2]
    counts = torch.tensor([4.0, 1.0, 1.0])
    weight_C = len(targets) / (3 * counts)
    assert weight_C[targets].mean() == pytest.approx(1.0)
    batch = batch_of([[row] for row in rows_of([4] * 6)], targets)
    ours = Labels(weight_C).loss(model, batch)["labels"] / len(targets)
    theirs = nn.CrossEntropyLoss(weight=weight_C)(label_logits(model, batch), batch.target_N)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("pooling", ["mean", "last", "first"])
def test_padding_changes_no_answer(pooling):
    model = new_classifier(3, pooling)
    texts = [[row] for row in rows_of([2, 11, 7])]
    together = label_logits(model, batch_of(texts, [0, 1, 2]))
    for number, text in enumerate(texts):
        alone = label_logits(model, batch_of([text], [0]))
        torch.testing.assert_close(together[number : number + 1], alone, rtol=1e-4, atol=1e-5)


def test_the_windows_of_a_text_are_averaged_by_their_pieces():
    model = new_classifier(2)
    windows = rows_of([8, 8, 3])
    batch = batch_of([windows, rows_of([5], seed=1)], [0, 1])
    vectors = [batch_of([[window]], [0]).vectors(model)[0] for window in windows]
    expected = (8 * vectors[0] + 8 * vectors[1] + 3 * vectors[2]) / 19
    torch.testing.assert_close(batch.vectors(model)[0], expected, rtol=1e-4, atol=1e-5)
    alone = batch_of([rows_of([5], seed=1)], [1]).vectors(model)[0]
    torch.testing.assert_close(batch.vectors(model)[1], alone, rtol=1e-4, atol=1e-5)
    assert batch.counts == {"labels": 2}


def test_shares_are_of_the_rows_of_a_text_and_add_up_to_one():
    share_NB = window_shares([rows_of([4, 4, 2]), rows_of([3]), rows_of([1, 9])])
    assert share_NB.tolist() == [
        pytest.approx([0.4, 0.4, 0.2, 0, 0, 0]),
        pytest.approx([0, 0, 0, 1, 0, 0]),
        pytest.approx([0, 0, 0, 0, 0.1, 0.9]),
    ]


def test_texts_of_one_row_need_no_shares_and_equal_ones_no_mask():
    batch = batch_of([[row] for row in rows_of([6, 6])], [1, 0])
    assert batch.share_NB is None
    assert batch.text.is_token_BT is None
    assert batch.num_tokens == 12


def test_vectors_that_were_read_before_are_judged_alike():
    model = new_classifier(3)
    batch = batch_of([[row] for row in rows_of([6, 2, 9])], [2, 0, 1])
    kept = FeatureBatch(
        vector_ND=batch.vectors(model).detach(), target_N=batch.target_N, names=batch.names
    )
    torch.testing.assert_close(label_logits(model, kept), label_logits(model, batch))
    assert (kept.num_tokens, kept.counts) == (3, {"labels": 3})
