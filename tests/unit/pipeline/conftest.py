"""Tiny runs that have learned nothing, one for each objective, over one tiny tokenizer."""

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from headstart.apps.recipes.base import base
from headstart.apps.recipes.bert import bert
from headstart.apps.recipes.compact import compact
from headstart.models.initialisation import initialise
from headstart.models.model import new_model
from headstart.pipeline import learner, training_run
from headstart.pipeline.recipe import Recipe, with_vocabulary
from headstart.pipeline.run_folder import Run
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer
from headstart.tokenizers.tokenizer import Tokenizer

WORDS = [
    "le",
    "la",
    "chat",
    "chien",
    "livre",
    "maison",
    "rouge",
    "bleu",
    "grand",
    "petit",
    "voit",
    "mange",
    "lit",
    "aime",
    "ville",
]
RECIPES = {
    "causal": lambda: compact("causal"),
    "masked": lambda: compact("masked"),
    "masked+next": bert,
}


def tiny(recipe: Recipe, length: int = 48) -> Recipe:
    """A recipe of the same kind, of which a step takes a millisecond."""
    layer = replace(recipe.model.trunk.layer, width=32, num_heads=2, feed_forward_width=48)
    trunk = replace(recipe.model.trunk, layer=replace(layer, dropout=0.0), num_layers=2)
    return replace(recipe, model=replace(recipe.model, trunk=trunk), length=length)


def tiny_run(recipe: Recipe, tokenizer: Tokenizer) -> Run:
    return shaken(with_vocabulary(tiny(recipe), tokenizer.size), tokenizer)


@torch.no_grad()
def shaken(recipe: Recipe, tokenizer: Tokenizer) -> Run:
    model = new_model(recipe.model)
    initialise(model, seed=1)
    generator = torch.Generator().manual_seed(2)
    for parameter in model.parameters():
        # Larger than first weights are, so that what it writes is not always the same.
        parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    return Run(Path("run"), recipe, tokenizer, model.eval())


@pytest.fixture(scope="module")
def plain_process():
    """Leaves out what a run does for speed, for safety and for looks, and no test here asks for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learner, "keep_freed_memory", lambda: None)
        patch.setattr(training_run, "write_curves", lambda _folder: None)
        patch.setattr(os, "fsync", lambda _descriptor: None)
        yield


@pytest.fixture(scope="session")
def texts() -> list[str]:
    draw = random.Random(1)
    return [" ".join(draw.choices(WORDS, k=draw.randint(4, 12))) + "." for _ in range(300)]


@pytest.fixture(scope="session")
def tokenizer(texts) -> Tokenizer:
    return learn_tokenizer(texts, TokenizerConfig(size=298))


@pytest.fixture(scope="session")
def runs(tokenizer) -> dict[str, Run]:
    return {name: tiny_run(recipe(), tokenizer) for name, recipe in RECIPES.items()}


@pytest.fixture(scope="session")
def translator(tokenizer) -> Run:
    """A translator with one vocabulary that has learned nothing."""
    made = with_vocabulary(base(), tokenizer.size)
    trunk = made.model.trunk
    layer = replace(trunk.encoder.layer, width=32, num_heads=2, feed_forward_width=48, dropout=0.0)
    small = replace(
        trunk,
        encoder=replace(trunk.encoder, layer=layer, num_layers=2, max_length=64),
        decoder=replace(trunk.decoder, layer=layer, num_layers=2, max_length=64),
    )
    return shaken(replace(made, model=replace(made.model, trunk=small)), tokenizer)
