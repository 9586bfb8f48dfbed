"""The loss of translations against PyTorch's own over whole logits; padding has no part in it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from headstart.apps.recipes.small import small
from headstart.models.initialisation import initialise
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.model import new_model
from headstart.objectives.translation import (
    Translation,
    answer_losses,
    source_text,
    target_grids,
    to_pair_batch,
)
from headstart.pipeline.recipe import with_vocabulary
from headstart.tokenizers.pieces import END_ID, PADDING_ID, START_ID

VOCABULARY_SIZE = 40


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
    read, asked, is_token = target_grids(targets)
    assert read.tolist() == [
        [START_ID, *targets[0]],
        [START_ID, *targets[1], PADDING_ID, PADDING_ID],
    ]
    assert asked.tolist() == [
        [*targets[0], END_ID],
        [*targets[1], END_ID, PADDING_ID, PADDING_ID],
    ]
    assert is_token.sum(axis=1).tolist() == [4, 2]


def test_sides_of_equal_length_need_no_mask():
    batch = batch_of(rows(0, 3, 3), rows(1, 5, 5))
    assert batch.pair.source.is_token_BT is None
    assert batch.pair.target.is_token_BT is None
    assert batch.num_tokens == batch.counts["pieces"] == 12


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1, 0.5])
def test_loss_and_gradients_are_those_of_whole_logits_without_padding(model, label_smoothing):
    batch = batch_of(rows(0, 7, 2, 4), rows(1, 3, 6, 1))
    (loss,) = Translation(label_smoothing).loss(model, batch).values()
    loss.backward()
    ours = {name: weights.grad.clone() for name, weights in model.named_parameters()}
    model.zero_grad()
    _, asked, _ = target_grids(rows(1, 3, 6, 1))
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


def test_what_stands_in_the_padding_is_never_seen(model):
    batch = batch_of(rows(0, 7, 2, 4), rows(1, 3, 6, 1), length_step=8)

    def spoiled(text: Text) -> Text:
        tokens_BT = text.tokens_BT.masked_fill(~text.is_token_BT, 9)
        return text._replace(tokens_BT=tokens_BT)

    other = replace(batch, pair=SourceAndTarget(*map(spoiled, batch.pair)))
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
