"""A packed run is a run: smaller, of the same answers, vouched for, and without paths."""

import json
import os
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from headstart.apps.cli.main import main
from headstart.checkpoints.tensor_file import write_tensors
from headstart.corpora.leaks.sketch_file import read_sketch
from headstart.errors import DamagedFileError, RunError
from headstart.files import read_sealed_json, sha256_of, write_sealed_json
from headstart.pipeline import training_run
from headstart.pipeline.command_of import command_of
from headstart.pipeline.corpus_stores import CorpusConfig
from headstart.pipeline.fill import fill
from headstart.pipeline.pack import Packing, pack
from headstart.pipeline.planning import Budget, Place
from headstart.pipeline.pretrain import Pretraining, Resumption, pretrain, resume_run
from headstart.pipeline.run_files import read_recipe
from headstart.pipeline.run_folder import load_run, read_corpus, read_weights
from headstart.pipeline.runs import size_of, summary
from headstart.pipeline.watch import Watch
from headstart.tokenizers.folder import save_tokenizer

MOST_BYTES = 90_000
EMBEDDING = "trunk.embedding.tokens.weight"


@pytest.fixture
def wish(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    monkeypatch.setattr(training_run, "write_curves", lambda _folder: None)
    path = tmp_path / "reviews.txt"
    path.write_text("\n".join(toy.documents(400)) + "\n")
    save_tokenizer(toy.tokenizer, tmp_path / "tokenizer")
    return Pretraining(
        recipe=toy.recipe("masked"),
        corpus=CorpusConfig(corpus=(str(path),)),
        budget=Budget(num_steps=3),
        place=Place(device="cpu", num_threads=1),
        tokenizer=tmp_path / "tokenizer",
    )


@pytest.fixture
def run(wish, tmp_path):
    pretrain(wish, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def packed(run, tmp_path):
    folder = tmp_path / "small"
    pack(run, folder, Packing(name="toy-en", about="For tests. MIT.", most_bytes=MOST_BYTES))
    return folder


def test_a_packed_run_is_small_and_answers_as_before(run, packed):
    assert size_of(packed) <= MOST_BYTES
    before, after = load_run(run, "cpu"), load_run(packed, "cpu")
    assert after.recipe == before.recipe
    assert after.tokenizer.fingerprint == before.tokenizer.fingerprint
    for one, other in zip(before.model.parameters(), after.model.parameters(), strict=True):
        assert other.dtype == torch.float32
        assert torch.equal(one.half().float(), other)
    text = "The house <mask> the river."
    one, other = (fill(loaded, text, 5).blanks[0] for loaded in (before, after))
    assert [row.piece for row in one] == [row.piece for row in other]
    assert [row.probability for row in one] == pytest.approx(
        [row.probability for row in other], rel=0.01
    )


def test_half_the_bytes_are_saved_and_every_file_is_vouched_for(run, packed):
    whole, half = (folder / "weights.safetensors" for folder in (run, packed))
    assert half.stat().st_size < 0.6 * whole.stat().st_size
    files = read_sealed_json(packed / "manifest.json")["files"]
    found = {str(path.relative_to(packed)) for path in packed.rglob("*") if path.is_file()}
    assert found == {*files, "manifest.json"}
    assert all(sha256_of(packed / name) == digest for name, digest in files.items())


def test_damage_to_a_packed_run_is_noticed(packed):
    path = packed / "weights.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedFileError, match=r"weights\.safetensors is damaged"):
        load_run(packed, "cpu")


def test_the_card_says_what_made_it_of_what_and_how_good_it_is(run, packed, tmp_path):
    card = (packed / "card.md").read_text()
    assert card.startswith("# toy-en\n\nFor tests. MIT.")
    digest = sha256_of(tmp_path / "reviews.txt")
    results = json.loads((run / "results.json").read_text())
    told = (digest, "headstart pretrain reviews.txt", f"{results['held_out']['loss']:.4f} nats")
    assert all(each in card for each in (*told, sha256_of(packed / "weights.safetensors")))


def test_no_folder_of_whoever_packed_it_is_told(packed, tmp_path):
    told = [path for path in packed.rglob("*") if path.is_file()]
    assert not [path for path in told if str(tmp_path).encode() in path.read_bytes()]
    config, sources = read_corpus(packed)
    assert config.corpus == ("reviews.txt",)
    assert sources["reviews.txt"] == sha256_of(tmp_path / "reviews.txt")


def test_the_sketch_has_the_room_that_is_left(run, packed, tmp_path):
    whole, small = read_sketch(run / "corpus.sketch"), read_sketch(packed / "corpus.sketch")
    assert 1_000 <= len(small.hashes) < len(whole.hashes)
    assert small.hashes.tolist() == [h for h in whole.hashes.tolist() if h <= small.limit]
    pack(run, tmp_path / "large", Packing(name="large"))
    assert (tmp_path / "large" / "corpus.sketch").read_bytes() == (
        run / "corpus.sketch"
    ).read_bytes()


def test_a_packed_run_is_finished_and_can_be_gone_on_from(wish, packed, tmp_path):
    assert summary(packed).state == "finished"
    assert resume_run(packed, Resumption(), Watch())
    recipe = replace(read_recipe(packed), plan=None)
    further = replace(wish, recipe=recipe, tokenizer=None, start=packed)
    pretrain(further, tmp_path / "further")
    pack(tmp_path / "further", tmp_path / "again", Packing(name="again"))
    assert "--from small" in (tmp_path / "again" / "card.md").read_text()


@pytest.mark.parametrize(
    ("value", "told"),
    [(1e5, "half precision ends at 65,504"), (500.0, "nats, and 0.0001 is allowed")],
)
def test_weights_that_half_precision_would_spoil_are_not_packed(run, tmp_path, value, told):
    weights = read_weights(run)
    # Pieces that are nearly tied: between large weights, the rounding decides.
    weights[EMBEDDING][1::2] = weights[EMBEDDING][::2] * 1.0002
    weights[EMBEDDING] *= value / weights[EMBEDDING].abs().max()
    manifest = read_sealed_json(run / "manifest.json")
    manifest["files"]["weights.safetensors"] = write_tensors(run / "weights.safetensors", weights)
    write_sealed_json(run / "manifest.json", manifest)
    with pytest.raises(RunError, match=told):
        pack(run, tmp_path / "small", Packing(name="toy"))
    assert not (tmp_path / "small").exists()


def test_what_cannot_be_packed_is_told(run, wish, tmp_path):
    with pytest.raises(RunError, match=r"leaves no room for the sketch in 75,000"):
        pack(run, tmp_path / "small", Packing(name="toy", most_bytes=75_000))
    assert not (tmp_path / "small").exists()
    with pytest.raises(RunError, match="exists already"):
        pack(run, run, Packing(name="toy"))
    (run / "manifest.json").unlink()
    with pytest.raises(RunError, match="is not finished"):
        pack(run, tmp_path / "small", Packing(name="toy"))
    with pytest.raises(RunError, match="There is no run"):
        pack(tmp_path, tmp_path / "small", Packing(name="toy"))


def test_the_command_that_made_a_run_makes_it_again(tmp_path, monkeypatch, toy):
    from click.testing import CliRunner

    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("my text.csv").write_text(
        "words\n" + "\n".join(f'"{text}"' for text in toy.documents(3_000)) + "\n"
    )
    words = "--recipe lab --objective masked --steps 1 --length 32 --sequences 2 --rate 3e-4 "
    words += "--schedule linear --head exact --hide 0.3 --whole-words --accumulate 2 --seed 5 "
    words += "--average 0.9 --text-column words --device cpu --threads 1 --skip-bad"
    first = CliRunner().invoke(main, ["pretrain", "my text.csv", *words.split(), "--out", "one"])
    assert first.exit_code == 0, first.output
    made = command_of(
        read_recipe(Path("one")),
        CorpusConfig(corpus=("my text.csv",), text_column="words", skips_bad=True),
        None,
    )
    again = CliRunner().invoke(main, [*shlex.split(made)[1:-1], "two", "--threads", "1"])
    assert again.exit_code == 0, again.output
    assert read_recipe(Path("one")) == read_recipe(Path("two"))
    one, two = read_weights(Path("one")), read_weights(Path("two"))
    assert all(torch.equal(one[name], two[name]) for name in one)
