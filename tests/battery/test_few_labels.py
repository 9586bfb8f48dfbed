"""Thirty labels and a trunk that knows something: no seed may end where a guess would."""

import os
from dataclasses import replace

import pytest
import torch
from tiny_transfers import (
    TELLING,
    planted,
    tokenizer,
    transferring,
    trunk_recipe,
    write_rows,
    write_trunk,
)

from headstart.checkpoints.tensor_file import read_tensors, write_tensors
from headstart.files import sha256_of, write_sealed_json
from headstart.pipeline import training_run
from headstart.pipeline.examples import ExamplesConfig
from headstart.pipeline.run_files import MANIFEST_FILE, WEIGHTS_FILE, read_results
from headstart.pipeline.transfer import transfer
from headstart.transfers.settings import FEWEST_STEPS, WARM

LABELS = ("bad", "good")
NUM_SEEDS, NUM_LABELS = 8, 30
RECIPE = trunk_recipe(num_layers=1, width=32)


@pytest.fixture(scope="module")
def knowing(tmp_path_factory):
    """A trunk for which words that tell the same are near each other, and a little to learn."""
    folder = tmp_path_factory.mktemp("knowing")
    start = write_trunk(folder / "trunk", RECIPE)
    path = start / WEIGHTS_FILE
    weights = read_tensors(path, sha256_of(path))
    table = weights["trunk.embedding.tokens.weight"]
    generator = torch.Generator().manual_seed(0)
    for alike in TELLING:
        place = 0.3 * torch.randn(table.shape[1], generator=generator)
        for piece in {int(piece) for word in alike for piece in tokenizer().encode(word)}:
            table[piece] += place
    digest = write_tensors(path, weights)
    write_sealed_json(start / MANIFEST_FILE, {"files": {WEIGHTS_FILE: digest}})
    names = {"train": (60, 2), "valid": (24, 3), "test": (200, 4)}
    for name, (num, seed) in names.items():
        write_rows(folder / f"{name}.csv", planted(num, LABELS, seed))
    files = {name: str(folder / f"{name}.csv") for name in names}
    return start, ExamplesConfig(**files, size=NUM_LABELS)


@pytest.mark.parametrize("seed", range(NUM_SEEDS))
def test_every_seed_learns_from_few_labels_and_takes_the_steps_that_needs(
    knowing, seed, tmp_path, monkeypatch
):
    start, examples = knowing
    monkeypatch.setattr(training_run, "write_curves", lambda _folder: None)
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    wanted = transferring(start, replace(examples, draw=seed), WARM, seed)
    transfer(replace(wanted, recipe=RECIPE), tmp_path / "run")
    results = read_results(tmp_path / "run")
    assert results["steps"] >= FEWEST_STEPS
    assert results["test"]["full"]["accuracy"] > 0.6
