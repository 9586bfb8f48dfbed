"""The page about the classifier works: its blocks are run one after the other, as in a notebook."""

import os
import re
from pathlib import Path

import pytest

from headstart.apps.trunks import finding

PAGE = Path(__file__).parents[2] / "docs" / "classifier.md"
BLOCK = re.compile(r"^```py\n(.*?)^```", re.DOTALL | re.MULTILINE)
OPENING = "A joy from first frame to last."


@pytest.fixture
def box(toy, tmp_path, monkeypatch):
    """A tiny trunk by the name of the one in the box: what it says is not the page's point."""
    from headstart.pipeline import training_run
    from headstart.pipeline.corpus_stores import CorpusConfig
    from headstart.pipeline.planning import Budget, Place
    from headstart.pipeline.pretrain import Pretraining, pretrain
    from headstart.tokenizers.folder import save_tokenizer

    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    monkeypatch.setattr(training_run, "write_curves", lambda _folder: None, raising=False)
    (tmp_path / "corpus.txt").write_text("\n".join(toy.documents(200)) + "\n")
    save_tokenizer(toy.tokenizer, tmp_path / "tokenizer")
    wanted = Pretraining(
        recipe=toy.recipe("masked"),
        corpus=CorpusConfig(corpus=(str(tmp_path / "corpus.txt"),)),
        budget=Budget(num_steps=3),
        place=Place(device="cpu", num_threads=1),
        tokenizer=tmp_path / "tokenizer",
    )
    pretrain(wanted, tmp_path / "film-en")
    monkeypatch.setattr(finding, "TRUNKS", {"film-en": tmp_path / "film-en"})


def test_the_blocks_of_the_page_run_one_after_the_other(box, capsys):
    blocks = BLOCK.findall(PAGE.read_text())
    assert len(blocks) == 4
    assert OPENING in blocks[0]
    names: dict[str, object] = {"__name__": "notebook"}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"{PAGE.name}, block {number}", "exec"), names)  # noqa: S102 - our own
    assert "['bad' 'good']" in capsys.readouterr().out
