"""Classifiers so small that a text takes a millisecond, one for each shape that is shipped."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import torch

from headstart.apps.recipes.bert import bert
from headstart.apps.recipes.compact import compact
from headstart.apps.recipes.lab import lab
from headstart.checkpoints.tensor_file import write_tensors
from headstart.files import write_json, write_sealed_json
from headstart.models.heads.config import LabelHeadConfig
from headstart.models.initialisation import initialise
from headstart.models.model import new_model
from headstart.pipeline.recipe import Recipe, with_vocabulary
from headstart.pipeline.run_files import (
    MANIFEST_FILE,
    RESULTS_FILE,
    TOKENIZER_FOLDER,
    WEIGHTS_FILE,
    write_recipe,
)
from headstart.pipeline.run_folder import Run
from headstart.tokenizers.folder import save_tokenizer
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer
from headstart.tokenizers.tokenizer import Tokenizer
from headstart.transfers.config import TransferConfig

SHAPES = {
    "lab": lab,
    "bert": bert,
    "compact-masked": lambda: compact("masked"),
    "compact-causal": lambda: compact("causal"),
}
LABELS = ("bad", "fair", "good")
WORDS = [
    "the",
    "film",
    "was",
    "good",
    "bad",
    "very",
    "and",
    "but",
    "not",
    "plot",
    "actors",
    "boring",
    "great",
    "fun",
    "slow",
]


def sentence(seed: int, num_words: int = 8) -> str:
    """Draws words, so many, from few."""
    draw = torch.Generator().manual_seed(seed)
    places = torch.randint(len(WORDS), (num_words,), generator=draw).tolist()
    return " ".join(WORDS[place] for place in places)


@cache
def tokenizer() -> Tokenizer:
    found = learn_tokenizer([sentence(seed) for seed in range(300)], TokenizerConfig(size=290))
    return found.with_pieces(["<mask>", "<first>", "<sep>"])


def recipe_of(shape: str, long_texts: str = "cut", length: int = 24) -> Recipe:
    recipe = with_vocabulary(SHAPES[shape](), tokenizer().size)
    layer = replace(recipe.model.trunk.layer, width=32, num_heads=2, feed_forward_width=48)
    trunk = replace(recipe.model.trunk, layer=layer, num_layers=2, max_length=64)
    head = LabelHeadConfig(num_labels=len(LABELS), pooling=recipe.pooling)
    return replace(
        recipe,
        name="tiny",
        model=replace(recipe.model, trunk=trunk, head=head),
        length=length,
        transfer=TransferConfig(labels=LABELS, is_warm=False, long_texts=long_texts),
    )


@torch.no_grad()
def run_of(recipe: Recipe) -> Run:
    """A run whose weights are drawn, large enough for its answers to differ."""
    model = new_model(recipe.model)
    initialise(model, seed=1)
    generator = torch.Generator().manual_seed(2)
    for parameter in model.parameters():
        parameter += 0.2 * torch.randn(parameter.shape, generator=generator)
    return Run(Path("run"), recipe, tokenizer(), model.eval())


def write_run(folder: Path, run: Run, temperature: float | None = 1.5) -> Path:
    """Writes a finished run; without a temperature its results have none."""
    save_tokenizer(run.tokenizer, folder / TOKENIZER_FOLDER)
    write_recipe(folder, run.recipe)
    digest = write_tensors(folder / WEIGHTS_FILE, run.model.state_dict())
    write_json(folder / RESULTS_FILE, {} if temperature is None else {"temperature": temperature})
    write_sealed_json(folder / MANIFEST_FILE, {"files": {WEIGHTS_FILE: digest}})
    return folder
