"""The loss of translations against PyTorch's own over whole logits; padding has no part in it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from headstart.apps.recipes.small import small
from headstart.batches.pair_shapes import PairShape
from headstart.models.initialisation import initialise
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.model import new_model
from headstart.objectives.translation import (
    Translation,
    answer_losses,
    padded_shape,
    source_text,
    target_grids,
    to_pair_batch,
    to_shaped_batch,
)
from headstart.pipeline.recipe import with_vocabulary
from headstart.tokenizers.pieces import END_ID, PADDING_ID, START_ID
from headstart.training.recorded import key_of, tensors_of, with_tensors

VOCABULARY_SIZE = 40
SHAPE = PairShape(4, 9, 10)


def rows(seed: int, *lengths: int) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.integers(4, VOCABULARY_SIZE, size, dtype=np.int32) for size in lengths]


def batch_of(sources, targets, length_step: int = 1):
    names = [f"pair {number}" for number in range(len(sources))]
    return to_pair_batch(sources, targets, names, "cpu", length_step)


@pytest.fixture(scope="module")
def model():
    recipe = with_vocabulary(small(), VOCABULARY_SIZE)
    trunk = recipe.model.trunk
    layer = replace(trunk.encoder.layer, width=16, num_heads=2, feed_forward_width=24, dropout=0.0)
    encoder, decoder = (
        replace(stack, layer=layer, num_layers=2) for stack in (trunk.encoder, trunk.decoder)
    )
    made = new_model(
        replace(recipe.model, trunk=replace(trunk, encoder=encoder, decoder=decoder))
    ).double()
    initialise(made, seed=3)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weights in made.parameters():
            weights += 0.1 * torch.randn(weights.shape, generator=generator)
    return made


def test_rows_have_their_marks_where_everyone_expects_them():
    sources, targets = rows(0, 2, 4), rows(1, 3, 1)
    text = source_text(sources, "cpu")
    assert text.tokens_BT.tolist() == [
        [*sources[0], END_ID, PADDING_ID, PADDING_ID],
        [*sources[1], END_ID],
    ]
    assert text.is_token_BT.tolist() == [[True] * 3 + [False] * 2, [True] * 5]
    read, asked, is_token = target_grids(targets, padded_shape(targets))
    assert read.tolist() == [
        [START_ID, *targets[0]],
        [START_ID, *targets[1], PADDING_ID, PADDING_ID],
    ]
    assert asked.tolist() == [
        [*targets[0], END_ID],
        [*targets[1], END_ID, PADDING_ID, PADDING_ID],
    ]
    assert is_token.sum(axis=1).tolist() == [4, 2]


def test_sources_of_equal_length_need_no_mask_unless_shapes_are_to_be_few():
    sources, targets = rows(0, 3, 3), rows(1, 5, 5)
    batch = batch_of(sources, targets)
    assert batch.pair.source.is_token_BT is None
    assert batch_of(sources, targets, length_step=4).pair.source.is_token_BT.all()
    # What lies behind is hidden from a target in any case.
    assert batch.pair.target.is_token_BT is None
    assert batch.num_tokens == batch.counts["pieces"] == 12


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1, 0.5])
def test_loss_and_gradients_are_those_of_whole_logits_without_padding(model, label_smoothing):
    batch = batch_of(rows(0, 7, 2, 4), rows(1, 3, 6, 1))
    (loss,) = Translation(label_smoothing).loss(model, batch).values()
    loss.backward()
    ours = {name: weights.grad.clone() for name, weights in model.named_parameters()}
    model.zero_grad()
    targets = rows(1, 3, 6, 1)
    _, asked, _ = target_grids(targets, padded_shape(targets))
    logits_BTV = model(batch.pair)
    expected = F.cross_entropy(
        logits_BTV.flatten(0, 1),
        torch.from_numpy(asked).flatten(),
        ignore_index=PADDING_ID,
        label_smoothing=label_smoothing,
        reduction="sum",
    )
    expected.backward()
    torch.testing.assert_close(loss, expected)
    for name, weights in model.named_parameters():
        torch.testing.assert_close(ours[name], weights.grad, msg=name)
    model.zero_grad()


def test_the_plain_loss_is_the_one_without_smoothing(model):
    batch = batch_of(rows(0, 7, 2), rows(1, 3, 6))
    losses_M = answer_losses(model, batch)
    (total,) = Translation().loss(model, batch).values()
    torch.testing.assert_close(losses_M.sum(), total.detach())


def test_padding_on_either_side_changes_nothing(model):
    sources, targets = rows(0, 7, 2, 4), rows(1, 3, 6, 1)
    (together,) = Translation(0.1).loss(model, batch_of(sources, targets)).values()
    (padded,) = Translation(0.1).loss(model, batch_of(sources, targets, length_step=16)).values()
    alone = sum(
        next(iter(Translation(0.1).loss(model, batch_of([source], [target])).values()))
        for source, target in zip(sources, targets, strict=True)
    )
    torch.testing.assert_close(padded, together)
    torch.testing.assert_close(alone, together)


@pytest.mark.parametrize("shape", [(3, 8, 7), (5, 11, 12)])
def test_a_given_shape_changes_neither_the_mean_nor_the_gradients(model, shape):
    sources, targets = rows(0, 7, 2, 4), rows(1, 3, 6, 1)
    plain = batch_of(sources, targets)
    (total,) = Translation(0.1).loss(model, plain).values()
    (total / plain.counts["pieces"]).backward()
    expected = {name: weights.grad.clone() for name, weights in model.named_parameters()}
    model.zero_grad()
    batch = to_shaped_batch(sources, targets, ["a", "b", "c"], "cpu", PairShape(*shape))
    (mean,) = Translation(0.1).loss(model, batch).values()
    (mean / batch.counts["pieces"]).backward()
    assert batch.num_tokens == plain.num_tokens == 13
    torch.testing.assert_close(mean, total / 13, rtol=1e-6, atol=0)
    for name, weights in model.named_parameters():
        torch.testing.assert_close(weights.grad, expected[name], rtol=1e-5, atol=1e-8, msg=name)
    model.zero_grad()


def test_steps_of_a_given_shape_are_one_to_a_recording(model):
    """All that changes from one to the next is in tensors, the number of answers too."""
    one, other = (
        to_shaped_batch(rows(seed, *lengths), rows(seed + 1, *lengths), names, "cpu", SHAPE)
        for seed, lengths, names in ((0, (7, 2, 4), "abc"), (2, (1, 5), "de"))
    )
    assert key_of(one) == key_of(other)
    assert one.num_tokens != other.num_tokens
    # As a recording does it: the tensors of one batch take the place of another's.
    played = with_tensors(one, tensors_of(other))
    losses = [next(iter(Translation(0.1).loss(model, each).values())) for each in (played, other)]
    assert losses[0] == losses[1]


def test_what_stands_in_the_padding_is_never_seen(model):
    batch = batch_of(rows(0, 7, 2, 4), rows(1, 3, 6, 1), length_step=8)

    source, target = batch.pair
    spoiled = source.tokens_BT.masked_fill(~source.is_token_BT, 9)
    is_asked_N = torch.zeros(target.tokens_BT.numel(), dtype=torch.bool)
    is_asked_N[batch.answered_M] = True
    unread = target.tokens_BT.masked_fill(~is_asked_N.view_as(target.tokens_BT), 9)
    pair = SourceAndTarget(source._replace(tokens_BT=spoiled), Text(unread))
    assert not torch.equal(unread, target.tokens_BT)
    other = replace(batch, pair=pair)
    one, same = (next(iter(Translation().loss(model, each).values())) for each in (batch, other))
    assert one == same


def test_no_answer_sees_what_is_to_come(model):
    """The square mask: another piece at a place changes no answer that is asked for before it."""
    source, target = rows(0, 6), rows(1, 8)
    first = answer_losses(model, batch_of(source, target))
    for place in range(8):
        changed = [target[0].copy()]
        changed[0][place] = 4 + (changed[0][place] - 3) % (VOCABULARY_SIZE - 4)
        seen = answer_losses(model, batch_of(source, changed))
        torch.testing.assert_close(seen[:place], first[:place], rtol=0, atol=0)
        assert not torch.equal(seen[place + 1 :], first[place + 1 :])
