"""Runs that every test of this folder starts from, made once: begun, and finished undisturbed."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from tiny_runs import (
    OBJECTIVES,
    TRANSFERS,
    TRANSLATION,
    begun,
    cache_in,
    content,
    go_on,
    look_often,
    toy_text,
)
from tiny_transfers import SETTINGS, begun_transfer, write_examples, write_trunk
from tiny_translators import begun_translator, translating, write_pairs

from headstart.files import CACHE_VARIABLE
from headstart.pipeline import learner, training_run


@dataclass(frozen=True)
class World:
    """Some text, a cache, and of each kind a run that was only begun and what comes of it."""

    folder: Path
    text: Path
    cache: Path

    def fresh(self, kind: str, folder: Path) -> Path:
        """Returns a copy of the run that has done no step."""
        return shutil.copytree(self.folder / "begun" / kind, folder)

    def undisturbed(self, kind: str) -> dict[str, object]:
        """Returns the content of the same run, finished without a disturbance."""
        finished = self.folder / "finished" / kind
        if not finished.exists():
            self.fresh(kind, finished)
            go_on(finished)
        return content(finished)


@pytest.fixture(scope="session", autouse=True)
def plain_process():
    """Leaves the C library's settings alone, which other tests rely on, and draws no curves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learner, "keep_freed_memory", lambda: None)
        patch.setattr(training_run, "write_curves", lambda _folder: None)
        yield


@pytest.fixture(scope="session")
def world(plain_process, tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    text, cache = folder / "text.txt", folder / "cache"
    text.write_text(toy_text())
    with cache_in(cache):
        for objective in OBJECTIVES:
            look_often(begun(folder / "begun" / objective, text, objective))
        trunk, examples = write_trunk(folder / "trunk"), write_examples(folder / "examples")
        for mode in TRANSFERS:
            begun_transfer(folder / "begun" / mode, trunk, examples, SETTINGS[mode])
        write_pairs(folder / "pairs")
        begun_translator(folder / "begun" / TRANSLATION, translating(folder / "pairs"))
    return World(folder, text, cache)


@pytest.fixture(autouse=True)
def cache(world, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(world.cache))
    return world.cache


@pytest.fixture
def no_flushing(monkeypatch):
    """Leaves out the flushing to disk, where not the disk is tested: it is most of the time."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
