"""A model is a trunk and a head: swapping the head keeps the trunk, object, weights and all."""

import pytest
import torch

from headstart.apps.recipes.base import base
from headstart.apps.recipes.bert import bert
from headstart.apps.recipes.compact import compact
from headstart.apps.recipes.lab import lab
from headstart.errors import RecipeError
from headstart.models.heads.config import LabelHeadConfig
from headstart.models.heads.label import LabelHead
from headstart.models.initialisation import initialise
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.model import Model, new_head, new_model
from headstart.models.trunks import MIXED_SUMS, Trunk
from headstart.pipeline.recipe import model_for, with_vocabulary

TWO_LABELS = LabelHeadConfig(num_labels=2, pooling="last")


@pytest.fixture
def reader():
    model = new_model(with_vocabulary(lab(), 100).model)
    initialise(model, seed=0)
    return model


def addresses(module):
    return {parameter.data_ptr() for parameter in module.parameters()}


def test_a_label_head_and_a_language_head_share_one_lab_trunk(reader):
    judge = Model(reader.trunk, new_head(TWO_LABELS, reader.trunk))
    assert judge.trunk is reader.trunk
    assert not isinstance(reader.head, LabelHead)


def test_swapping_a_head_copies_nothing_of_the_trunk(reader):
    before = addresses(reader.trunk)
    judge = Model(reader.trunk, new_head(TWO_LABELS, reader.trunk))
    assert addresses(judge.trunk) == before
    new = addresses(judge) - addresses(reader)
    assert new == addresses(judge.head)


def test_swapping_a_head_changes_no_weight_of_the_trunk(reader):
    before = {name: tensor.clone() for name, tensor in reader.trunk.state_dict().items()}
    judge = Model(reader.trunk, new_head(TWO_LABELS, reader.trunk))
    initialise(judge.head, seed=1)
    after = judge.trunk.state_dict()
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())


def test_learning_under_one_head_is_seen_under_the_other(reader):
    judge = Model(reader.trunk, new_head(TWO_LABELS, reader.trunk))
    text = Text(torch.randint(100, (2, 8), generator=torch.Generator().manual_seed(0)))
    before = reader(text)
    optimiser = torch.optim.SGD(judge.parameters(), lr=0.1)
    judge(text).sum().backward()
    optimiser.step()
    assert not torch.equal(reader(text), before)


def test_a_tied_head_is_the_embedding_itself():
    model = new_model(with_vocabulary(compact(), 100).model)
    assert model.head.weight is model.trunk.embedding.tokens.weight


def test_an_untied_head_has_weights_of_its_own(reader):
    assert reader.head.weight.data_ptr() != reader.trunk.embedding.tokens.weight.data_ptr()


def test_a_shared_embedding_serves_the_encoder_the_decoder_and_the_tied_head():
    model = new_model(with_vocabulary(base(), 100).model)
    table = model.trunk.encoder.embedding.tokens
    assert model.trunk.decoder.embedding.tokens is table
    assert model.head.weight is table.weight


@pytest.mark.parametrize("make", [lab, compact, bert], ids=lambda make: make.__name__)
def test_each_head_answers_in_its_shape(make):
    text = Text(torch.zeros(3, 7, dtype=torch.long))
    recipe = with_vocabulary(make(), 50)
    answer = new_model(recipe.model)(text)
    language = answer.language_BTV if make is bert else answer
    assert language.shape == (3, 7, 50)
    assert new_model(model_for(recipe, "classification", 5))(text).shape == (3, 5)


def test_packed_pairs_are_refused_rather_than_mixed():
    model = new_model(with_vocabulary(base(), 20).model)
    tokens_BT = torch.zeros(1, 4, dtype=torch.long)
    packed = Text(tokens_BT, document_BT=torch.tensor([[0, 0, 1, 1]]))
    with pytest.raises(RecipeError, match="Pairs cannot be packed"):
        model.trunk(SourceAndTarget(packed, Text(tokens_BT)))


def test_a_trunk_has_the_same_first_weights_under_any_head_and_with_none(reader):
    alone = Trunk(reader.trunk.config)
    initialise(alone, seed=0)
    under = reader.trunk.state_dict()
    assert all(torch.equal(under[name], tensor) for name, tensor in alone.state_dict().items())


@pytest.mark.parametrize(
    ("known", "told"), [([MIXED_SUMS], {MIXED_SUMS: False}), (["another"], None)]
)
def test_the_compiler_is_told_only_what_it_knows(reader, monkeypatch, known, told):
    seen = []
    monkeypatch.setattr("torch._inductor.list_options", lambda: known)
    monkeypatch.setattr(torch.nn.Module, "compile", lambda _layer, **given: seen.append(given))
    reader.trunk.compile_layers(for_any_shape=True)
    assert seen == [{"dynamic": True, "options": told}] * len(reader.trunk.layers)
