"""Each recipe, with its own head and question, learns from its first step on.

Legend: B batch, T positions, V pieces.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from headstart.apps.recipes import RECIPES
from headstart.apps.recipes.compact import compact
from headstart.models.initialisation import initialise
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.model import Model, new_model
from headstart.pipeline.recipe import Recipe, with_vocabulary

VOCABULARY_SIZE, NUM_ROWS, LENGTH, MASK_ID = 300, 4, 32, 3
# The table's rows are masked where a recipe can be both; the causal half of `modern` counts too.
ALL_RECIPES = dict(RECIPES) | {"compact causal": lambda: compact("causal")}

every_recipe = pytest.mark.parametrize("name", ALL_RECIPES)


def shrunk(name: str) -> Recipe:
    recipe = replace(ALL_RECIPES[name](), length=LENGTH, sequences_per_step=NUM_ROWS)
    return with_vocabulary(recipe, VOCABULARY_SIZE)


def draw_tokens(seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(4, VOCABULARY_SIZE, (NUM_ROWS, LENGTH), generator=generator)


def next_piece_loss(logits_BTV: Tensor, tokens_BT: Tensor) -> Tensor:
    return F.cross_entropy(logits_BTV[:, :-1].flatten(0, 1), tokens_BT[:, 1:].flatten())


def causal_loss(model: Model, seed: int) -> Tensor:
    tokens_BT = draw_tokens(seed)
    return next_piece_loss(model(Text(tokens_BT)), tokens_BT)


def translation_loss(model: Model, seed: int) -> Tensor:
    source_BT, target_BT = draw_tokens(seed), draw_tokens(seed + 1_000)
    # Teacher forcing: each next piece of the true target, from the true pieces before it.
    pair = SourceAndTarget(Text(source_BT), Text(target_BT))
    return next_piece_loss(model(pair), target_BT)


def hide(tokens_BT: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Puts the mask piece on 15 % of the positions; returns the pieces and which were hidden."""
    generator = torch.Generator().manual_seed(seed)
    is_hidden_BT = torch.rand(tokens_BT.shape, generator=generator) < 0.15
    return tokens_BT.masked_fill(is_hidden_BT, MASK_ID), is_hidden_BT


def masked_loss(model: Model, seed: int) -> Tensor:
    tokens_BT = draw_tokens(seed)
    seen_BT, is_hidden_BT = hide(tokens_BT, seed)
    return F.cross_entropy(model(Text(seen_BT))[is_hidden_BT], tokens_BT[is_hidden_BT])


def masked_and_next_loss(model: Model, seed: int) -> Tensor:
    tokens_BT = draw_tokens(seed)
    seen_BT, is_hidden_BT = hide(tokens_BT, seed)
    segment_BT = (torch.arange(LENGTH) >= LENGTH // 2).long().expand(NUM_ROWS, LENGTH)
    logits = model(Text(seen_BT, segment_BT=segment_BT))
    masked = F.cross_entropy(logits.language_BTV[is_hidden_BT], tokens_BT[is_hidden_BT])
    follows_B = torch.arange(NUM_ROWS) % 2
    return masked + F.cross_entropy(logits.next_sentence_B2, follows_B)


LOSSES: dict[str, Callable[[Model, int], Tensor]] = {
    "causal": causal_loss,
    "masked": masked_loss,
    "masked+next": masked_and_next_loss,
    "translation": translation_loss,
}


def prepare(name: str) -> tuple[Model, torch.optim.Optimizer, Callable[[Model, int], Tensor]]:
    recipe = shrunk(name)
    # Dropout draws from the global state, and these steps are to be the same each time.
    torch.manual_seed(0)
    model = new_model(recipe.model)
    initialise(model, seed=0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return model.train(), optimizer, LOSSES[recipe.objective]


@every_recipe
def test_loss_and_gradients_are_finite_from_the_first_step(name):
    model, optimizer, loss_of = prepare(name)
    for step in range(3):
        optimizer.zero_grad()
        loss = loss_of(model, step)
        loss.backward()
        assert loss.isfinite()
        for parameter_name, parameter in model.named_parameters():
            assert parameter.grad.isfinite().all(), parameter_name
        optimizer.step()


@every_recipe
def test_every_parameter_has_a_part_in_the_loss(name):
    model, _, loss_of = prepare(name)
    loss_of(model, 0).backward()
    assert not [key for key, parameter in model.named_parameters() if not parameter.grad.any()]


@every_recipe
def test_twenty_steps_on_one_batch_lower_the_loss(name):
    model, optimizer, loss_of = prepare(name)
    with torch.no_grad():
        first = loss_of(model.eval(), 0).item()
    model.train()
    for _ in range(20):
        optimizer.zero_grad()
        loss_of(model, 0).backward()
        optimizer.step()
    with torch.no_grad():
        last = loss_of(model.eval(), 0).item()
    assert last < first
