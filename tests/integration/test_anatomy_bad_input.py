"""Whatever is typed wrong is answered in one sentence on the error stream, with exit code 2."""

import json

import pytest
from click.testing import CliRunner

from headstart.apps.cli.main import main
from headstart.apps.recipes import RECIPES
from headstart.apps.recipes.lab import lab
from headstart.models.accounting.duration import Machine
from headstart.pipeline import this_machine
from headstart.pipeline.recipe_json import to_json

SEEN = Machine(name="a desk", matrix_rate=1e11, pass_rate=5e9, memory_bytes=8 << 30)
ODD_HEADS = """
from dataclasses import replace
from headstart.apps.recipes.lab import lab

def recipe():
    layer = replace(lab().model.trunk.layer, num_heads=3)
"""


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(this_machine, "measure_machine", lambda _device: SEEN)


def refused(*arguments: str) -> str:
    """Returns the one sentence that a command answers with."""
    result = CliRunner().invoke(main, arguments)
    assert (result.exit_code, result.stdout) == (2, ""), repr(result.exception)
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("headstart: ")
    return lines[0].removeprefix("headstart: ")


@pytest.mark.parametrize(
    ("typed", "meant"), [("labb", "lab"), ("compct", "compact"), ("Bert", "bert"), ("bas", "base")]
)
def test_an_unknown_recipe_lists_the_known_ones_and_suggests_the_nearest(typed, meant):
    sentence = refused("anatomy", typed)
    assert repr(typed) in sentence
    assert f"Did you mean {meant!r}?" in sentence
    assert ", ".join(RECIPES) in sentence


def test_an_unknown_recipe_like_no_other_still_lists_the_known_ones():
    sentence = refused("anatomy", "zzzzzz")
    assert ", ".join(RECIPES) in sentence
    assert "Did you mean" not in sentence


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--vocabulary", "0"), ["'0'", "from 1 to"]),
        (("--vocabulary", "-5"), ["'-5'", "from 1 to"]),
        (("--vocabulary", "many"), ["'many'"]),
        (("--vocabulary", "1.5"), ["'1.5'"]),
        (("--vocabulary", "1e400"), ["'1e400'"]),
        (("--vocabulary", "1e30"), []),
        (("--tokens", "0"), ["'0'", "from 1 to"]),
        (("--tokens", "1e999"), ["'1e999'"]),
        (("--length", "5001"), ["5,001", "5,000"]),
        (("--length", "0"), ["0", "5,000"]),
        (("--length", "-1"), ["-1", "5,000"]),
        (("--length", "long"), ["'long'"]),
        (("--labels", "1"), ["--labels", "1", "from 2 to"]),
        (("--labels", "0"), ["--labels", "0", "from 2 to"]),
        (("--labels", "9" * 30), []),
        (("--task", "classification", "--labels", "1"), ["--labels", "from 2 to"]),
        (("--labels", "3", "--task", "translation"), ["3 labels", "translation"]),
        (("--labels", "3", "--task", "language-model"), ["3 labels", "language-model"]),
        (("--task", "translation"), ["lab", "translation", "base"]),
        (("--task", "clasification"), ["clasification"]),
        (("--kernel", "1"), ["kernel is 1", "2 or more"]),
        (("--kernel", "0"), ["kernel is 0"]),
        (("--rate", "0"), ["0"]),
        (("--rate", "-1"), ["-1"]),
        (("--rate", "nan"), ["nan"]),
        (("--rate", "inf"), ["inf"]),
        (("--memory", "0"), ["0"]),
        (("--memory", "nan"), ["nan"]),
        (("--memory", "inf"), ["inf"]),
        (("--device", "tpu"), ["'tpu'", "auto, cpu"]),
        (("--threads", "0"), ["0"]),
        (("--nonsense",), ["--nonsense"]),
        (("--leng", "5"), ["--leng", "--length"]),
        (("more",), ["more"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_bad_value_is_answered_with_what_it_was_and_what_is_allowed(arguments, words):
    sentence = refused("anatomy", "lab", *arguments)
    for word in words:
        assert word in sentence, sentence


def test_an_encoder_decoder_is_not_asked_for_labels():
    assert "translation" in refused("anatomy", "base", "--labels", "2")


@pytest.mark.parametrize("name", ["compact", "base"])
def test_a_tied_head_on_a_frozen_trunk_has_nothing_to_learn(name):
    task = "translation" if name == "base" else "language-model"
    assert "nothing would learn" in refused("anatomy", name, "--frozen", "--task", task)


def test_an_encoder_decoder_on_a_frozen_trunk_is_not_sent_to_ask_about_labels():
    assert "labels" not in refused("anatomy", "base", "--frozen")


def test_a_missing_argument_is_named():
    assert "RECIPE_OR_RUN" in refused("anatomy")


def test_an_unknown_command_is_named():
    assert "anatomi" in refused("anatomi")


def test_a_folder_for_figures_that_is_a_file_is_named(tmp_path):
    (tmp_path / "taken").write_text("")
    assert "taken" in refused("anatomy", "lab", "--figures", str(tmp_path / "taken"))


def test_a_folder_for_figures_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "taken").write_text("")
    assert "taken" in refused("anatomy", "lab", "--figures", str(tmp_path / "taken" / "inner"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ODD_HEADS, ["num_heads is 3", "200", "2, 4, 5"]),
        ("raise RuntimeError('the user erred')", ["RuntimeError", "the user erred"]),
        ("raise RuntimeError('one line\\nand another')", ["RuntimeError"]),
        ("def recipe(:", ["SyntaxError"]),
        ("import no_such_module", ["no_such_module"]),
        ("def recipe(required): ...", ["TypeError"]),
        ("", ["recipe()"]),
        ("def other(): ...", ["recipe()"]),
        ("recipe = 3", ["recipe()"]),
        ("def recipe(): return 'lab'", ["recipe()", "headstart.Recipe"]),
        ("raise SystemExit('bye')", ["bye"]),
    ],
)
def test_a_recipe_of_ones_own_that_cannot_be_used_says_why(tmp_path, text, words):
    path = tmp_path / "own.py"
    path.write_text(text)
    sentence = refused("anatomy", str(path))
    for word in words:
        assert word in sentence, sentence


def test_a_recipe_of_ones_own_that_is_not_there_is_named(tmp_path):
    assert "absent.py" in refused("anatomy", str(tmp_path / "absent.py"))


def write_run(tmp_path, value) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    (tmp_path / "recipe.json").write_text(text)
    return str(tmp_path)


def test_the_folder_of_a_run_stands_for_its_recipe(tmp_path):
    result = CliRunner().invoke(main, ["anatomy", write_run(tmp_path, to_json(lab())), "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["parameters"]["total"] == 21_018_401


def test_a_folder_that_is_no_run_is_named(tmp_path):
    assert str(tmp_path) in refused("anatomy", str(tmp_path))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("{", ["not valid JSON"]),
        ("", ["not valid JSON"]),
        ("[1, 2]", ["no recipe"]),
        ("[" * 100_000, ["recipe.json"]),
        ({"type": "Recipe"}, ["wrong or missing", "model"]),
        ({"type": "Recip"}, ["'Recip'", "damaged"]),
        (to_json(lab()) | {"length": "long"}, ["length is 'long'"]),
        (to_json(lab()) | {"length": 10**9}, ["1,000,000,000", "5,000"]),
        (to_json(lab()) | {"extra": 1}, ["extra"]),
        (to_json(lab()) | {"objective": "guess"}, ["'guess'"]),
        (to_json(lab()) | {"model": None}, ["model is None"]),
    ],
    ids=range(11),
)
def test_a_run_whose_recipe_cannot_be_read_says_where(tmp_path, change, words):
    sentence = refused("anatomy", write_run(tmp_path, change))
    for word in words:
        assert word in sentence, sentence


def test_steps_that_do_not_fit_the_memory_of_this_machine_are_refused():
    assert refused("anatomy", "lab", "--vocabulary", "1e12", "--verify")
