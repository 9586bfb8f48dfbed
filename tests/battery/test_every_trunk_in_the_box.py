"""Every trunk in the box is a whole run, small enough, vouched for, and says what it is."""

import math

import pytest

from headstart.apps.trunks import TRUNKS
from headstart.apps.trunks.finding import find_run
from headstart.apps.trunks.loading import load
from headstart.corpora.leaks.sketch_file import read_sketch
from headstart.files import read_sealed_json, sha256_of
from headstart.pipeline.fill import fill
from headstart.pipeline.run_files import is_finished, read_results
from headstart.pipeline.run_folder import read_corpus
from headstart.pipeline.runs import size_of
from headstart.tokenizers.tokenizer import Tokenizer

MOST_BYTES = 9_000_000


@pytest.fixture(params=TRUNKS)
def trunk(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return find_run(request.param)


def test_it_is_small_and_every_file_is_the_one_that_was_packed(trunk):
    assert size_of(trunk) <= MOST_BYTES
    files = read_sealed_json(trunk / "manifest.json")["files"]
    found = {path.relative_to(trunk).as_posix() for path in trunk.rglob("*") if path.is_file()}
    assert found == {*files, "manifest.json"}
    assert [name for name in files if sha256_of(trunk / name) != files[name]] == []


def test_it_loads_by_its_name_and_answers(trunk):
    run = load(trunk.name)
    assert is_finished(trunk)
    assert isinstance(run.tokenizer, Tokenizer)
    found = fill(run, "It was a <mask> film.", 3).blanks[0]
    # Anything but a uniform draw: it has learned something.
    assert found[0].probability > 20 / run.tokenizer.size


def test_its_card_says_what_made_it_and_of_what(trunk):
    card = (trunk / "card.md").read_text()
    assert card.startswith(f"# {trunk.name}\n")
    _, sources = read_corpus(trunk)
    for part in (*sources.values(), "headstart pretrain", "Licence"):
        assert part in card
    assert sha256_of(trunk / "weights.safetensors") in card


def test_its_record_and_its_sketch_are_there(trunk):
    results = read_results(trunk)
    assert results["held_out"]["loss"] < math.log(load(trunk.name).tokenizer.size)
    sketch = read_sketch(trunk / "corpus.sketch")
    assert len(sketch.hashes) >= 1_000
    assert sketch.num_ngrams_seen > 1_000_000
    assert (trunk / "log.jsonl").stat().st_size > 0
