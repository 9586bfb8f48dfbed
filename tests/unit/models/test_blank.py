"""A blank model is a model like any other once its weights are loaded, and draws nothing."""

import pytest
import torch

from headstart.apps.recipes.base import base
from headstart.apps.recipes.bert import bert
from headstart.apps.recipes.compact import compact
from headstart.apps.recipes.lab import lab
from headstart.models.blank import blank_model
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.model import new_model
from headstart.pipeline.recipe import with_vocabulary
from headstart.training.averaging import load

RECIPES = (lab, bert, base, compact)


@pytest.mark.parametrize("recipe", RECIPES)
def test_loaded_it_answers_the_same(recipe):
    config = with_vocabulary(recipe(), 60).model
    model, blank = new_model(config).eval(), blank_model(config).eval()
    load(blank, {name: weights.detach() for name, weights in model.named_parameters()})
    text = Text(torch.arange(12).view(2, 6))
    inputs = SourceAndTarget(text, text) if recipe is base else text
    with torch.no_grad():
        for one, other in zip(as_tuple(model(inputs)), as_tuple(blank(inputs)), strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("recipe", RECIPES)
def test_nothing_is_drawn(recipe):
    before = torch.get_rng_state()
    blank_model(with_vocabulary(recipe(), 60).model)
    assert torch.equal(before, torch.get_rng_state())
    # Behind the block first weights are drawn again.
    assert torch.nn.Linear(3, 3).weight.std() > 0
    assert not torch.equal(before, torch.get_rng_state())


def as_tuple(answer: object) -> tuple[torch.Tensor, ...]:
    return answer if isinstance(answer, tuple) else (answer,)
