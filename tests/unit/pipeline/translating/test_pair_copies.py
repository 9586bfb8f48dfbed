"""Test sources that were learned from are found, and nothing is claimed where that is unknown."""

from pathlib import Path

import pytest

from headstart.corpora.pairs import Pair
from headstart.corpora.places import Place
from headstart.pipeline.translating.pair_copies import are_copied, are_copied_by
from headstart.pipeline.translating.pairs import PairsConfig, pair_hashes, write_pairs_config

TEST = [
    Pair(source, "x", Place(Path("t"), number))
    for number, source in enumerate(["Le chat!", "le chien", "la ville"], start=1)
]


@pytest.fixture
def learned(tmp_path):
    for name in ("a.src", "a.tgt"):
        (tmp_path / name).write_text("le chat\nla ville\n")
    return PairsConfig(source=str(tmp_path / "a.src"), target=str(tmp_path / "a.tgt"))


def test_copies_are_found_whatever_their_case_and_marks(learned):
    assert are_copied(learned, TEST) == [True, False, True]


def test_a_run_knows_what_it_learned_from_while_that_is_there(learned, tmp_path):
    run = tmp_path / "run"
    assert are_copied_by(run, TEST) is None
    write_pairs_config(run, learned, pair_hashes(learned) | {"the tokenizer": "abc"})
    assert are_copied_by(run, TEST) == [True, False, True]
    Path(learned.source).write_text("le chien\nla ville\n")
    assert are_copied_by(run, TEST) is None
    Path(learned.source).unlink()
    assert are_copied_by(run, TEST) is None
