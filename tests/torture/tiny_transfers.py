"""Trunks that nobody pretrained, planted examples, and transfers of the one to the other."""

import csv
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tiny_runs import tiny_recipe

from headstart.checkpoints.tensor_file import write_tensors
from headstart.files import write_json, write_sealed_json
from headstart.models.initialisation import initialise
from headstart.models.model import new_model
from headstart.pipeline.examples import ExamplesConfig
from headstart.pipeline.planning import Place
from headstart.pipeline.recipe import Recipe, with_vocabulary
from headstart.pipeline.run_files import (
    MANIFEST_FILE,
    RESULTS_FILE,
    TOKENIZER_FOLDER,
    WEIGHTS_FILE,
    write_recipe,
)
from headstart.pipeline.transfer import Transferring, begin_transfer
from headstart.pipeline.watch import Watch
from headstart.tokenizers.folder import save_tokenizer
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer
from headstart.tokenizers.pieces import OBJECTIVE_PIECES
from headstart.tokenizers.tokenizer import Tokenizer
from headstart.training.config import LearningConfig
from headstart.transfers.config import TransferConfig
from headstart.transfers.settings import TransferSettings

LABELS = ("bad", "fair", "good")
COMMON = ["the", "film", "was", "a", "story", "of", "two", "men", "and", "their", "long", "way"]
# The words that say which label a text has.
TELLING = [
    ["dull", "boring", "empty"],
    ["usual", "decent", "fine"],
    ["great", "moving", "funny"],
    ["loud", "noisy", "fast"],
    ["old", "grey", "silent"],
    ["sweet", "kind", "warm"],
    ["dark", "cruel", "cold"],
]
Row = tuple[str, str]


def planted(num: int, labels: Sequence[str] = LABELS, seed: int = 0) -> list[Row]:
    """Draws texts whose label two of their words tell, as many of each label."""
    draw = random.Random(seed)
    rows = []
    for number in range(num):
        place = number % len(labels)
        words = draw.choices(COMMON, k=draw.randint(3, 12))
        for word in draw.choices(TELLING[place], k=2):
            words.insert(draw.randrange(len(words) + 1), word)
        rows.append((" ".join(words), labels[place]))
    draw.shuffle(rows)
    return rows


def write_rows(path: Path, rows: Iterable[Row], columns: Sequence[str] = ("text", "label")) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as handle:
        csv.writer(handle).writerows([columns, *rows])
    return path


@cache
def tokenizer() -> Tokenizer:
    labels = [str(number) for number in range(len(TELLING))]
    lines = [text for text, _ in planted(400, labels, seed=99)]
    return learn_tokenizer(lines, TokenizerConfig(size=290)).with_pieces(OBJECTIVE_PIECES["masked"])


def trunk_recipe(num_layers: int = 2, width: int = 16) -> Recipe:
    """Returns a masked model whose every step takes a millisecond."""
    recipe = with_vocabulary(tiny_recipe("masked"), tokenizer().size)
    layer = replace(recipe.model.trunk.layer, width=width, feed_forward_width=width)
    trunk = replace(recipe.model.trunk, num_layers=num_layers, layer=layer)
    return replace(recipe, model=replace(recipe.model, trunk=trunk), length=24)


@torch.no_grad()
def write_trunk(folder: Path, recipe: Recipe | None = None, seed: int = 5) -> Path:
    """Writes a finished run of a language model whose weights are drawn."""
    recipe = recipe or trunk_recipe()
    model = new_model(recipe.model)
    initialise(model, seed)
    generator = torch.Generator().manual_seed(seed)
    for weights in model.parameters():
        weights += 0.02 * torch.randn(weights.shape, generator=generator)
    save_tokenizer(tokenizer(), folder / TOKENIZER_FOLDER)
    write_recipe(folder, recipe)
    digest = write_tensors(folder / WEIGHTS_FILE, dict(model.named_parameters()))
    write_json(folder / RESULTS_FILE, {"held_out": {"bits_per_byte": 2.0}})
    write_sealed_json(folder / MANIFEST_FILE, {"files": {WEIGHTS_FILE: digest}})
    return folder


def settings(mode: str = "full", **changes: Any) -> TransferSettings:
    """Returns settings of five epochs; changes go to the transfer, or else to the settings."""
    names = TransferConfig.__annotations__.keys() - TransferSettings.__annotations__.keys()
    ours = {key: changes.pop(key) for key in names & changes.keys()}
    learning = LearningConfig(
        peak_rate=changes.pop("peak_rate", 1e-2),
        schedule="linear",
        warm_up_share=0.1,
        weight_decay=0.01,
        average_decay=changes.pop("average_decay", 0.0),
        accumulation=changes.pop("accumulation", 1),
    )
    made = {"epochs": 5, "fewest_steps": 0, "examples_per_step": 4} | changes
    return TransferSettings(transfer=TransferConfig(mode=mode, **ours), learning=learning, **made)


# One with each kind of average, one over kept vectors, one in parts and with a rate for each layer.
SETTINGS = {
    "full": settings("full", average_decay=0.9, num_averaged=3),
    "frozen": settings("frozen", peak_rate=3e-2, dropout=0.0),
    "gradual": settings("gradual", accumulation=2, layer_decay=0.8, weighs_labels=True),
}


def write_examples(folder: Path, num_train: int = 24, num_other: int = 18) -> ExamplesConfig:
    """Writes planted examples to learn from, to choose by and to score on."""
    for name, (num, seed) in {
        "train": (num_train, 1),
        "valid": (num_other, 2),
        "test": (num_other, 3),
    }.items():
        write_rows(folder / f"{name}.csv", planted(num, seed=seed))
    return examples_in(folder)


def examples_in(folder: Path) -> ExamplesConfig:
    return ExamplesConfig(
        **{name: str(folder / f"{name}.csv") for name in ("train", "valid", "test")}
    )


def transferring(
    start: Path | None,
    examples: ExamplesConfig,
    how: TransferSettings | None = None,
    seed: int = 0,
) -> Transferring:
    """Returns what a tiny transfer is asked to do."""
    return Transferring(
        recipe=trunk_recipe(),
        examples=examples,
        settings=how or settings(),
        place=Place(device="cpu", num_threads=1, seed=seed),
        start=start,
    )


def begun_transfer(
    folder: Path, start: Path | None, examples: ExamplesConfig, how: TransferSettings
) -> Path:
    """Makes the folder of a transfer that has done no step."""
    begin_transfer(transferring(start, examples, how), folder, Watch())
    return folder
