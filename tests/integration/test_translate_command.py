"""The command `translate`, on a tiny translator that has learned nothing."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from headstart.apps.cli.main import main
from headstart.apps.recipes.base import base
from headstart.apps.recipes.compact import compact
from headstart.checkpoints.tensor_file import write_tensors
from headstart.files import write_sealed_json
from headstart.models.initialisation import initialise
from headstart.models.model import new_model
from headstart.pipeline.recipe import Recipe, with_vocabulary
from headstart.pipeline.run_files import (
    MANIFEST_FILE,
    TOKENIZER_FOLDER,
    WEIGHTS_FILE,
    write_recipe,
)
from headstart.tokenizers.folder import save_tokenizer

TEXTS = ["The house remembers the river.", "The uncle paints the ship!", "The garden leaves."]


@torch.no_grad()
def written_run(folder: Path, recipe: Recipe, tokenizer) -> Path:
    """A finished run whose weights were drawn."""
    folder.mkdir()
    recipe = with_vocabulary(recipe, tokenizer.size)
    model = new_model(recipe.model)
    initialise(model, seed=1)
    generator = torch.Generator().manual_seed(2)
    for parameter in model.parameters():
        parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    write_recipe(folder, recipe)
    save_tokenizer(tokenizer, folder / TOKENIZER_FOLDER)
    digest = write_tensors(folder / WEIGHTS_FILE, dict(model.named_parameters()))
    write_sealed_json(folder / MANIFEST_FILE, {"files": {WEIGHTS_FILE: digest}})
    return folder


def tiny_translator() -> Recipe:
    made = base()
    trunk = made.model.trunk
    layer = replace(trunk.encoder.layer, width=32, num_heads=2, feed_forward_width=48, dropout=0.0)
    encoder, decoder = (
        replace(half, layer=layer, num_layers=1, max_length=50)
        for half in (trunk.encoder, trunk.decoder)
    )
    return replace(
        made, model=replace(made.model, trunk=replace(trunk, encoder=encoder, decoder=decoder))
    )


@pytest.fixture(scope="module")
def run(toy_tokenizer, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "translator"
    return written_run(folder, tiny_translator(), toy_tokenizer)


@pytest.fixture
def invoke(run):
    def call(*words: str, **extra: object):
        return CliRunner().invoke(main, ["translate", str(run), *words, "--threads", "1"], **extra)

    return call


def lines(result) -> list[str]:
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def sentence(result) -> str:
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("headstart: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.mark.parametrize("strategy", ["beam", "greedy", "sample"])
def test_texts_a_file_and_a_pipe_give_the_same_lines(invoke, tmp_path, strategy):
    words = ("--strategy", strategy, "--most-pieces", "9")
    typed = lines(invoke(*TEXTS, *words))
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS) + "\n")
    assert len(typed) == 3
    assert lines(invoke("--file", str(path), *words)) == typed
    assert lines(invoke("-", *words, input="\n".join(TEXTS))) == typed


def test_blank_lines_stay_where_they_are(invoke, tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text(f"\n{TEXTS[0]}\n  \n{TEXTS[1]}\n")
    found = lines(invoke("--file", str(path), "--most-pieces", "9"))
    assert [bool(line) for line in found] == [False, True, False, True]


def test_best_come_with_their_scores(invoke):
    first, *found = lines(invoke(TEXTS[0], "--best", "3", "--beam", "5", "--most-pieces", "9"))
    assert first == f"1: {TEXTS[0]}"
    scores = [float(line.split()[0]) for line in found]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)


def test_json_has_all_that_is_known(invoke):
    words = (TEXTS[0], "", "--json", "--best", "2", "--most-pieces", "9")
    one, blank = map(json.loads, lines(invoke(*words)))
    keys = ["line", "source", "text", "log_probability", "alternatives", "notes", "ids"]
    assert list(one) == list(blank) == keys
    assert one["source"] == TEXTS[0]
    assert [list(each) for each in one["alternatives"]] == [
        ["text", "score", "log_probability"]
    ] * 2
    assert blank["text"] == ""
    assert blank["line"] == 2


def test_draws_come_back_with_their_seed_and_begin_as_asked(invoke):
    def drawn(seed: str) -> list[str]:
        words = ("--strategy", "sample", "--temperature", "2", "--most-pieces", "9")
        return lines(invoke(*TEXTS, *words, "--prefix", "The", "--seed", seed))

    assert drawn("1") == drawn("1") != drawn("2")
    assert all(line.startswith("The") for line in drawn("1"))


def test_text_that_is_too_long_is_split_and_says_so(invoke):
    result = invoke(" ".join(TEXTS * 9), "--strategy", "greedy", "--most-pieces", "9")
    assert len(lines(result)) == 1
    assert "Text 1 was split in" in result.stderr
    assert "positions of this run end at 49" in result.stderr


def test_explanation_is_one_page(invoke, tmp_path):
    page = tmp_path / "page.html"
    result = invoke(TEXTS[0], "--most-pieces", "9", "--explain", str(page))
    assert len(lines(result)) == 1
    shown = page.read_text()
    assert shown.startswith("<!DOCTYPE html>")
    # All that the beam has found stands there with its score.
    best = json.loads(invoke(TEXTS[0], "--most-pieces", "9", "--best", "4", "--json").stdout)
    for one in best["alternatives"]:
        assert f"{one['score']:.3f}".lstrip("-") in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "There is no text"),
        ((TEXTS[0], "--file", "x.txt"), "There are texts and a --file"),
        (("-", TEXTS[0]), "Give one or the other"),
        ((TEXTS[0], "--strategy", "greedy", "--beam", "4"), "--beam would change nothing"),
        ((TEXTS[0], "--top-k", "4"), "--top-k would change nothing with --strategy beam"),
        ((TEXTS[0], "--best", "9"), "best 9 were asked for, of a beam 4 wide"),
        ((TEXTS[0], "--beam", "0"), "'0' is not a whole number from 1 to 64"),
        ((TEXTS[0], "--beam", "100000"), "'100000' is not a whole number from 1 to 64"),
        ((TEXTS[0], "--strategy", "sample", "--temperature", "0"), "temperature is 0"),
        ((TEXTS[0], "--length-penalty", "nan"), "penalty is nan"),
        (("--file", "no-such-file.txt"), "no-such-file.txt"),
        ((TEXTS[0], TEXTS[1], "--explain", "page.html"), "--explain is for one text"),
        ((TEXTS[0], "--explain", "page.pdf"), "Pages are written as .html"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(invoke, words, said):
    assert said in sentence(invoke(*words))


def test_line_that_is_not_text_is_named(invoke, tmp_path):
    path = tmp_path / "texts.txt"
    path.write_bytes(b"The house.\n\xff\xfe broken\n")
    said = sentence(invoke("--file", str(path)))
    assert "line 2" in said
    assert "--skip-bad" not in said
    assert "Line 2 of what came in" in sentence(invoke("-", input=b"The house.\n\xff\n"))


def test_run_that_is_no_translator_says_so(toy_tokenizer, tmp_path):
    made = compact("causal")
    layer = replace(made.model.trunk.layer, width=32, num_heads=2, feed_forward_width=48)
    trunk = replace(made.model.trunk, layer=layer, num_layers=1)
    recipe = replace(made, model=replace(made.model, trunk=trunk))
    folder = written_run(tmp_path / "causal", recipe, toy_tokenizer)
    result = CliRunner().invoke(main, ["translate", str(folder), "The house."])
    assert "cannot translate" in sentence(result)
