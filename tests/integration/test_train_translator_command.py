"""The command train-translator, with resume and runs beside it, as they are typed."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from headstart.apps.cli.main import main
from headstart.corpora.generated_pairs import GeneratedPairsConfig, write_generated_pairs
from headstart.pipeline import training_run
from headstart.pipeline.run_folder import load_run

RECIPE = """
from dataclasses import replace
from headstart.apps.recipes.small import small

def recipe():
    made = small()
    trunk = made.model.trunk
    layer = replace(trunk.encoder.layer, width=32, num_heads=2, feed_forward_width=48)
    encoder = replace(trunk.encoder, layer=layer, num_layers=1, vocabulary_size=290)
    decoder = replace(trunk.decoder, layer=layer, num_layers=1, vocabulary_size=290)
    model = replace(made.model, trunk=replace(trunk, encoder=encoder, decoder=decoder))
    return replace(made, model=model, length=16, sequences_per_step=8)
"""
TRUNK = """
from dataclasses import replace
from headstart.apps.recipes.compact import compact

def recipe():
    made = compact()
    layer = replace(made.model.trunk.layer, width=32, num_heads=2, feed_forward_width=48)
    trunk = replace(made.model.trunk, layer=layer, num_layers=2, vocabulary_size=292)
    return replace(made, model=replace(made.model, trunk=trunk), length=32, sequences_per_step=4)
"""
PAIRS = ("--source", "pairs/train.source.txt", "--target", "pairs/train.target.txt")
VALID = ("--valid-source", "pairs/valid.source.txt", "--valid-target", "pairs/valid.target.txt")


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory):
    """A folder to work in with made-up pairs and a recipe."""
    folder = tmp_path_factory.mktemp("work")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_CACHE", str(folder / "cache"))
        patch.setattr(os, "fsync", lambda _descriptor: None)
        patch.setattr(training_run, "write_curves", lambda _folder: None)
        patch.chdir(folder)
        (folder / "mine.py").write_text(RECIPE)
        (folder / "trunk.py").write_text(TRUNK)
        write_generated_pairs(
            folder / "pairs", GeneratedPairsConfig(num_train=300, num_valid=20, most_words=6)
        )
        yield folder


def typed(*words: object):
    return CliRunner().invoke(main, [str(word) for word in words])


def trained(out: str, *words: object, recipe: str | None = "mine.py"):
    named = ("--recipe", recipe) if recipe else ()
    return typed("train-translator", *PAIRS, *named, "--device", "cpu", "--out", out, *words)


def refusal(result) -> str:
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return result.stderr.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def run(place):
    """A finished translator, and what was printed while it came to be."""
    result = trained("runs/first", *VALID, "--steps", 8)
    assert result.exit_code == 0, result.output
    return Path("runs/first"), result


def test_a_run_ends_with_what_it_is_worth(run):
    folder, result = run
    results = json.loads((folder / "results.json").read_text())
    assert results["steps"] == 8
    assert {"loss", "bleu", "num_pieces", "num_sentences"} == results["valid"].keys()
    assert f"{results['valid']['bleu']:.2f} on 20 validation pairs" in result.stdout
    assert "300 learned from, 20 to choose by" in result.stdout
    assert f"headstart translate {folder}" in result.stdout
    manifest = json.loads((folder / "manifest.json").read_text())["value"]
    assert {"weights.safetensors", "pairs.json", "recipe.json"} <= manifest["files"].keys()
    assert len(manifest["sources"]) == 4
    assert not (folder / "checkpoints").exists()


def test_it_stands_in_the_list_of_runs(run):
    folder, _ = run
    seen = {row["folder"]: row for row in json.loads(typed("runs", "--json").stdout)}
    bleu = json.loads((folder / "results.json").read_text())["valid"]["bleu"]
    assert seen[str(folder)]["bleu"] == bleu
    assert seen[str(folder)]["objective"] == "translation"
    assert "BLEU" in typed("runs").stdout


def test_a_finished_run_is_resumed_without_a_word_and_begun_no_second_time(run):
    folder, _ = run
    weights = (folder / "weights.safetensors").read_bytes()
    assert typed("resume", folder).exit_code == 0
    assert (folder / "weights.safetensors").read_bytes() == weights
    assert "holds a run already" in refusal(trained(folder, "--steps", 2))


def test_without_validation_files_some_pairs_are_held_out(place):
    result = trained("runs/held", "--steps", 2, "--json")
    assert result.exit_code == 0, result.output
    results = json.loads(result.stdout)["results"]
    assert results["pairs"] == {"train": 285, "valid": 15}


def test_a_processor_has_a_recipe_that_suits_it(place):
    result = trained("runs/usual", *VALID, "--steps", 1, recipe=None)
    assert result.exit_code == 0, result.output
    assert "The recipe is pocket" in result.stderr
    assert json.loads(Path("runs/usual/recipe.json").read_text())["name"] == "pocket"
    assert "The recipe is" not in trained("runs/named", *VALID, "--steps", 1).stderr


def test_two_vocabularies_are_kept_beside_each_other(place):
    for part in ("train", "valid"):
        upper = Path(f"pairs/{part}.target.txt").read_text().upper()
        write(place, f"{part}.upper", upper)
    words = ("--source", PAIRS[1], "--target", "train.upper", *VALID[:3], "valid.upper")
    more = ("--recipe", "mine.py", "--device", "cpu", "--steps", 2, "--out", "runs/two")
    result = typed("train-translator", *words, *more, "--two-vocabularies")
    assert result.exit_code == 0, result.output
    folder = place / "runs" / "two"
    loaded = load_run(folder, "cpu")
    assert loaded.target_tokenizer.fingerprint != loaded.tokenizer.fingerprint
    trunk = loaded.recipe.model.trunk
    assert not trunk.shares_embedding
    assert trunk.encoder.vocabulary_size == loaded.tokenizer.size
    assert trunk.decoder.vocabulary_size == loaded.target_tokenizer.size
    more = ("--from", "runs/two", "--device", "cpu", "--steps", 2, "--out", "runs/two-on")
    result = typed("train-translator", *words, *more)
    assert result.exit_code == 0, result.output
    again = load_run(place / "runs" / "two-on", "cpu")
    assert again.target_tokenizer.fingerprint == loaded.target_tokenizer.fingerprint
    account = json.loads(Path("runs/two-on/swap.json").read_text())
    assert {row["fate"] for row in account["tensors"]} == {"loaded"}


def test_settings_reach_the_recipe(place):
    words = ("--step-tokens", 200, "--rate", 0.002, "--dropout", 0.2, "--smoothing", 0.05)
    more = ("--average-last", 3, "--average", 0.9, "--accumulate", 2, "--schedule", "linear")
    result = trained("runs/settings", *VALID, "--tokens", 600, *words, *more)
    assert result.exit_code == 0, result.output
    recipe = json.loads((place / "runs" / "settings" / "recipe.json").read_text())
    assert recipe["length"] * recipe["sequences_per_step"] == 192
    assert recipe["plan"]["num_steps"] == 3
    assert recipe["translation"]["label_smoothing"] == 0.05
    assert recipe["translation"]["num_averaged"] == 3
    halves = recipe["model"]["trunk"]
    assert [halves[half]["layer"]["dropout"] for half in ("encoder", "decoder")] == [0.2, 0.2]
    expected = {"peak_rate": 0.002, "average_decay": 0.9, "accumulation": 2, "schedule": "linear"}
    assert expected.items() <= recipe["learning"].items()


@pytest.fixture(scope="module")
def trunk(place):
    """A trunk that was pretrained on the sources and targets."""
    words = ("--recipe", "trunk.py", "--device", "cpu", "--steps", 2, "--out", "runs/trunk")
    files = ("pairs/train.source.txt", "pairs/train.target.txt")
    result = typed("pretrain", *files, "--valid", "pairs/valid.source.txt", *words)
    assert result.exit_code == 0, result.output
    return Path("runs/trunk")


def test_a_trunk_is_begun_with_and_every_tensor_is_accounted_for(trunk):
    result = trained("runs/warm", *VALID, "--from", trunk, "--steps", 2, recipe=None)
    assert result.exit_code == 0, result.output
    account = json.loads(Path("runs/warm/swap.json").read_text())
    assert {row["fate"] for row in account["tensors"]} == {"loaded", "left random"}
    for row in account["tensors"]:
        assert row["name"] in result.stdout
        assert (row["fate"] == "left random") == ("cross_attention" in row["name"])
    recipe = json.loads(Path("runs/warm/recipe.json").read_text())
    assert recipe["name"] == "compact-small"
    assert recipe["model"]["trunk"]["encoder"]["positions"] == "rotary"


def test_another_vocabulary_and_what_does_not_fit_are_said(trunk, run):
    folder, _ = run
    words = ("--from", trunk, "--tokenizer", folder / "tokenizer", "--steps", 2)
    result = trained("runs/other", *VALID, *words, recipe=None)
    assert result.exit_code == 0, result.output
    assert "has another vocabulary" in result.stderr
    assert "other vocabulary" in result.stdout
    gated = RECIPE.replace("width=48", 'width=40, feed_forward="gated-silu"')
    Path("gated.py").write_text(gated)
    result = trained("runs/misfit", *VALID, "--from", trunk, "--steps", 2, recipe="gated.py")
    assert result.exit_code == 0, result.output
    assert "did not fit" in result.stdout
    assert "not used" in result.stdout


def write(place: Path, name: str, text: str) -> str:
    (place / name).write_text(text)
    return name


def test_what_is_wrong_with_pairs_is_said_before_training(place):
    source = Path("pairs/train.source.txt").read_text().splitlines()
    target = Path("pairs/train.target.txt").read_text().splitlines()
    valid = Path("pairs/valid.source.txt").read_text().splitlines()
    source[4], target[9] = "", " "
    source[20] = valid[0]
    target[30] = "ba " * 200
    source[30] = "ba"
    write(place, "odd.src", "\n".join(source) + "\n")
    write(place, "odd.tgt", "\n".join(target) + "\n")
    words = ("--recipe", "mine.py", "--device", "cpu", "--steps", 2, "--out", "runs/odd")
    named = ("--source", "odd.src", "--target", "odd.tgt")
    result = typed("train-translator", *named, *VALID, *words)
    assert result.exit_code == 0, result.output
    for fault in (
        "the source is empty (first: " + str(place / "odd.src") + ", line 5)",
        "the target is empty (first: " + str(place / "odd.tgt") + ", line 10)",
        "with another target (first: " + str(place / "odd.src") + ", line 21)",
        "pieces (first: " + str(place / "odd.src") + ", line 31)",
    ):
        assert fault in result.stderr


def test_what_cannot_be_done_is_one_sentence(place, trunk):
    write(place, "short.tgt", "ba\n")
    words = ("--target", "short.tgt", "--recipe", "mine.py", "--out", "runs/no", "--steps", 2)
    sentence = refusal(typed("train-translator", "--source", PAIRS[1], *words))
    assert "has more lines than" in sentence
    assert "from line 2 on" in sentence
    assert "Name both files" in refusal(trained("runs/no", *VALID[:2], "--steps", 2))
    absent = typed("train-translator", "--source", "absent", *PAIRS[2:], "--out", "runs/no")
    assert "There is no file 'absent'. Name one with --source that" in refusal(absent)
    assert "The recipe is pocket" not in absent.stderr
    assert "does not translate. Choose pocket, small or base" in refusal(
        trained("runs/no", "--steps", 2, recipe="compact")
    )
    sentence = refusal(trained("runs/no", "--two-vocabularies", "--from", trunk, "--steps", 2))
    assert "Leave --two-vocabularies out" in sentence
    assert "budget is given twice" in refusal(trained("runs/no", "--steps", 2, "--minutes", 1))
    assert "'--smoothing': '1.5' is not" in refusal(trained("runs/no", "--smoothing", 1.5))
    sentence = refusal(typed("pretrain", PAIRS[1], "--recipe", "small", "--out", "runs/no"))
    assert "plain text does not teach" in sentence
    assert not (place / "runs" / "no" / "recipe.json").exists()


def test_a_packed_translator_translates_as_before(run, place):
    folder, _ = run
    result = typed("runs", "pack", folder, "--out", "packed", "--name", "ours")
    assert result.exit_code == 0, result.output
    files = json.loads(Path("packed/manifest.json").read_text())["value"]["files"]
    found = {str(path.relative_to("packed")) for path in Path("packed").rglob("*")}
    assert {*files, "manifest.json", "tokenizer"} == found
    words = ("--file", "pairs/valid.source.txt", "--strategy", "greedy", "--device", "cpu")
    before, after = (typed("translate", each, *words) for each in (folder, "packed"))
    assert before.exit_code == 0, before.output
    assert after.stdout == before.stdout
    assert typed("resume", "packed").exit_code == 0
    told = [path.read_bytes() for path in Path("packed").rglob("*") if path.is_file()]
    assert not any(str(place).encode() in each for each in told)
