"""A tiny pretrained trunk and a task of labels, for what is built on them."""

import os
import random
from dataclasses import dataclass, replace
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Task:
    """Texts whose label a word decides."""

    texts: list[str]
    labels: list[str]


def drawn_task(count: int, seed: int) -> Task:
    draw = random.Random(seed)
    words = {"good": ["splendid", "warm"], "bad": ["dreadful", "cold"]}
    labels = [draw.choice(["good", "bad"]) for _ in range(count)]
    texts = [
        f"the {draw.choice(['house', 'river', 'ship'])} is {draw.choice(words[label])} today"
        for label in labels
    ]
    return Task(texts, labels)


@pytest.fixture(scope="session")
def task() -> Task:
    return drawn_task(64, seed=1)


@pytest.fixture(scope="session")
def more() -> Task:
    return drawn_task(40, seed=2)


def tiny_recipe():
    """The recipe `compact`, of which a step takes milliseconds."""
    from headstart.apps.recipes.compact import compact
    from headstart.pipeline.recipe import with_vocabulary

    made = compact()
    layer = replace(made.model.trunk.layer, width=32, num_heads=2, feed_forward_width=48)
    trunk = replace(made.model.trunk, layer=layer, num_layers=2)
    made = replace(made, model=replace(made.model, trunk=trunk), length=32, sequences_per_step=4)
    return with_vocabulary(made, 300)


@pytest.fixture(scope="session")
def recipe():
    return tiny_recipe()


@pytest.fixture(scope="session")
def trunk(tmp_path_factory) -> Path:
    """A run of a few steps over texts like those of the task."""
    from headstart.pipeline import training_run
    from headstart.pipeline.corpus_stores import CorpusConfig
    from headstart.pipeline.planning import Budget, Place
    from headstart.pipeline.pretrain import Pretraining, pretrain

    base = tmp_path_factory.mktemp("trunk")
    texts = [" ".join(drawn_task(3, seed).texts) for seed in range(300)]
    (base / "corpus.txt").write_text("\n".join(texts) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_CACHE", str(base / "cache"))
        patch.setattr(training_run, "write_curves", lambda _folder: None)
        patch.setattr(os, "fsync", lambda _descriptor: None)
        wanted = Pretraining(
            recipe=tiny_recipe(),
            corpus=CorpusConfig(corpus=(str(base / "corpus.txt"),)),
            budget=Budget(num_steps=5),
            place=Place(device="cpu", num_threads=1),
        )
        pretrain(wanted, base / "run")
    return base / "run"
