"""A packed translator is a run of half the bytes, with a card and nobody's folders in it."""

import json
import os
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from headstart.apps.cli.main import main
from headstart.apps.recipes.pocket import pocket
from headstart.corpora.generated_pairs import GeneratedPairsConfig, write_generated_pairs
from headstart.errors import RunError
from headstart.files import read_sealed_json, sha256_of
from headstart.pipeline import training_run
from headstart.pipeline.pack import Packing, pack
from headstart.pipeline.packed_origin import bare_names
from headstart.pipeline.planning import Budget, Place
from headstart.pipeline.run_folder import load_run, read_weights
from headstart.pipeline.runs import size_of, summary
from headstart.pipeline.train_translator import Translating, train_translator
from headstart.pipeline.translating.pairs import PairsConfig, read_pairs_config


def shaped(recipe):
    """Returns a recipe of the same kind, of which a step takes a millisecond."""
    trunk = recipe.model.trunk
    layer = replace(trunk.encoder.layer, width=16, num_heads=2, feed_forward_width=24)
    encoder, decoder = (
        replace(stack, layer=layer, vocabulary_size=290) for stack in (trunk.encoder, trunk.decoder)
    )
    model = replace(recipe.model, trunk=replace(trunk, encoder=encoder, decoder=decoder))
    return replace(recipe, model=model)


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    """Pairs whose sides have the same name in two folders, as many have."""
    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    monkeypatch.setattr(training_run, "write_curves", lambda _folder: None)
    monkeypatch.chdir(tmp_path)
    config = GeneratedPairsConfig(num_train=120, num_valid=10, most_words=5)
    write_generated_pairs(tmp_path / "made", config)
    for side in ("source", "target"):
        (tmp_path / side).mkdir()
        for part in ("train", "valid"):
            shutil.copy(tmp_path / f"made/{part}.{side}.txt", tmp_path / f"{side}/{part}.txt")
    return PairsConfig(
        source=str(tmp_path / "source/train.txt"),
        target=str(tmp_path / "target/train.txt"),
        valid_source=str(tmp_path / "source/valid.txt"),
        valid_target=str(tmp_path / "target/valid.txt"),
    )


@pytest.fixture
def wish(pairs):
    return Translating(
        recipe=shaped(pocket()),
        pairs=pairs,
        budget=Budget(num_steps=3),
        place=Place(device="cpu", num_threads=1),
    )


@pytest.mark.parametrize("has_two", [False, True])
def test_a_packed_translator_is_half_as_large_and_answers_as_before(wish, tmp_path, has_two):
    run, folder = tmp_path / "run", tmp_path / "small"
    train_translator(replace(wish, has_two_vocabularies=has_two), run)
    hashes = pack(run, folder, Packing(name="toy"))
    assert all(sha256_of(folder / name) == digest for name, digest in hashes.items())
    before, after = load_run(run, "cpu"), load_run(folder, "cpu")
    assert after.recipe == before.recipe
    assert after.target_tokenizer.fingerprint == before.target_tokenizer.fingerprint
    assert (after.own_target_tokenizer is not None) == has_two
    for one, other in zip(before.model.parameters(), after.model.parameters(), strict=True):
        assert torch.equal(one.half().float(), other)
    weights = [each / "weights.safetensors" for each in (run, folder)]
    assert weights[1].stat().st_size < 0.6 * weights[0].stat().st_size
    assert size_of(folder) < size_of(run)
    assert summary(folder).bleu == summary(run).bleu
    assert 0 <= read_sealed_json(folder / "manifest.json")["packed"]["divergence"] < 1e-4


def test_the_card_has_the_command_and_files_of_one_name_are_told_apart(wish, tmp_path):
    run, folder = tmp_path / "run", tmp_path / "small"
    train_translator(wish, run)
    pack(run, folder, Packing(name="toy", about="For tests."))
    card = (folder / "card.md").read_text()
    results = json.loads((run / "results.json").read_text())
    assert f"| BLEU | {results['valid']['bleu']:.2f} on 10 validation pairs" in card
    assert "| layers | 2+2 of width 16 |" in card
    assert "corpus.sketch" not in card
    config, sources = read_pairs_config(folder)
    assert (config.source, config.target) == ("source/train.txt", "target/train.txt")
    for name in ("source/train.txt", "target/train.txt", "source/valid.txt"):
        assert sources[name] == sha256_of(tmp_path / name)
        assert f"| {name} | `{sources[name]}` |" in card
    told = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert not any(str(tmp_path).encode() in each for each in told)


@pytest.mark.parametrize("more", ["", "--two-vocabularies --skip-bad --longest-ratio 4"])
def test_the_command_that_made_a_translator_makes_it_again(pairs, tmp_path, more):
    words = "--recipe small --steps 1 --step-tokens 96 --rate 2e-3 --schedule linear --dropout 0.2 "
    words += "--smoothing 0.2 --accumulate 2 --average 0.9 --average-last 3 --most-pieces 40 "
    words += "--source source/train.txt --target target/train.txt --seed 5 --device cpu "
    files = "--valid-source source/valid.txt --valid-target target/valid.txt --threads 1"
    typed = ["train-translator", *words.split(), *files.split(), *more.split()]
    first = CliRunner().invoke(main, [*typed, "--out", "one"])
    assert first.exit_code == 0, first.output
    pack(Path("one"), Path("small"), Packing(name="toy", most_bytes=20_000_000))
    command = read_sealed_json(Path("small/manifest.json"))["packed"]["command"]
    again = CliRunner().invoke(main, [*shlex.split(command)[1:-1], "two", "--threads", "1"])
    assert again.exit_code == 0, again.output
    one, two = read_weights(Path("one")), read_weights(Path("two"))
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_a_translator_that_is_too_large_is_refused(wish, tmp_path):
    train_translator(wish, tmp_path / "run")
    with pytest.raises(RunError, match=r"and 9,000 are allowed"):
        pack(tmp_path / "run", tmp_path / "small", Packing(name="toy", most_bytes=9_000))
    assert not (tmp_path / "small").exists()


def test_a_file_is_called_by_as_few_folders_as_tell_all_apart():
    assert bare_names(["/a/b/one.txt", "/a/two.txt"]) == {
        "/a/b/one.txt": "one.txt",
        "/a/two.txt": "two.txt",
    }
    assert set(bare_names(["/a/b/x", "/a/c/x", "/d/e"]).values()) == {"b/x", "c/x", "d/e"}
