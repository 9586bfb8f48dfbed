"""A word that was planted in two kinds of contexts separates by its vectors in context.

Legend: B rows, T positions, V pieces.
"""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from headstart.apps.recipes.compact import compact
from headstart.corpora.documents import Document
from headstart.corpora.places import Place
from headstart.models.initialisation import initialise
from headstart.models.inputs import Text
from headstart.models.model import Model, new_model
from headstart.pipeline.embed import passages
from headstart.pipeline.neighbours import neighbours
from headstart.pipeline.recipe import with_vocabulary
from headstart.pipeline.run_folder import Run
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer
from headstart.tokenizers.pieces import MASK, PADDING_ID
from headstart.tokenizers.tokenizer import Tokenizer

PLANTED = "avocat"
SENSES = {
    "law": [
        "juge",
        "tribunal",
        "client",
        "plaide",
        "loi",
        "robe",
        "accuse",
        "jury",
        "affaire",
        "preuve",
    ],
    "fruit": [
        "salade",
        "mange",
        "vert",
        "citron",
        "cuisine",
        "sel",
        "huile",
        "recette",
        "noyau",
        "creme",
    ],
}
SHARED = [
    "le",
    "la",
    "un",
    "une",
    "et",
    "avec",
    "dans",
    "pour",
    "tout",
    "bien",
    "grand",
    "petit",
    "voit",
    "prend",
    "donne",
]
NUM_TEXTS, NUM_STEPS, NUM_NEIGHBOURS = 800, 200, 10


def planted_text(draw: random.Random, sense: str) -> str:
    """Most words are anybody's; two of a sense stand somewhere, and the planted word or another."""
    own = draw.sample(SENSES[sense], k=3)
    middle = PLANTED if draw.random() < 0.5 else own[2]
    words = [*draw.choices(SHARED, k=6), *own[:2], middle]
    draw.shuffle(words)
    return " ".join(words) + "."


@pytest.fixture(scope="module")
def labelled() -> list[tuple[str, str]]:
    draw = random.Random(5)
    return [(planted_text(draw, sense), sense) for _ in range(NUM_TEXTS // 2) for sense in SENSES]


@pytest.fixture(scope="module")
def run(labelled) -> Run:
    texts = [text for text, _ in labelled]
    tokenizer = learn_tokenizer(texts, TokenizerConfig(size=320))
    recipe = compact()
    layer = replace(recipe.model.trunk.layer, width=48, num_heads=4, feed_forward_width=96)
    trunk = replace(recipe.model.trunk, layer=layer, num_layers=2)
    recipe = replace(recipe, model=replace(recipe.model, trunk=trunk), length=64)
    recipe = with_vocabulary(recipe, tokenizer.size)
    model = new_model(recipe.model)
    initialise(model, seed=1)
    train_masked(model, tokenizer, texts)
    return Run(Path("run"), recipe, tokenizer, model.eval())


def train_masked(model: Model, tokenizer: Tokenizer, texts: list[str]) -> None:
    """The masked objective in its plainest form."""
    rows = [tokenizer.encode(text).tolist() for text in texts]
    longest = max(map(len, rows))
    tokens_NT = torch.tensor([row + [PADDING_ID] * (longest - len(row)) for row in rows])
    generator = torch.Generator().manual_seed(3)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(NUM_STEPS):
        tokens_BT = tokens_NT[torch.randint(len(rows), (32,), generator=generator)]
        is_token_BT = tokens_BT != PADDING_ID
        is_hidden_BT = is_token_BT & (torch.rand(tokens_BT.shape, generator=generator) < 0.2)
        read_BT = tokens_BT.masked_fill(is_hidden_BT, tokenizer.id_of[MASK])
        logits_BTV = model(Text(read_BT, is_token_BT))
        loss = F.cross_entropy(logits_BTV[is_hidden_BT], tokens_BT[is_hidden_BT])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def purity(run: Run, labelled: list[tuple[str, str]]) -> float:
    """The share of a use's nearest uses that have its sense."""
    documents = [
        Document(text, Place(Path("senses.txt"), line))
        for line, (text, _) in enumerate(labelled, start=1)
    ]
    found = neighbours(run, passages(run, documents), PLANTED, NUM_NEIGHBOURS)
    senses = [sense for _, sense in labelled]
    return float(
        np.mean(
            [
                senses[like.use.passage.number] == senses[use.use.passage.number]
                for use in found.uses
                for like in use.nearest
            ]
        )
    )


def test_planted_word_separates_by_its_sense(run, labelled):
    assert purity(run, labelled) >= 0.95


def test_text_that_was_never_trained_on_separates_too(run):
    draw = random.Random(6)
    unseen = [(planted_text(draw, sense), sense) for _ in range(100) for sense in SENSES]
    assert purity(run, unseen) >= 0.95


def test_before_training_the_senses_are_mixed(run, labelled):
    model = new_model(run.recipe.model)
    initialise(model, seed=1)
    assert purity(replace(run, model=model.eval()), labelled) < 0.85
