"""The commands pretrain, resume, runs and evaluate, as they are typed."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from headstart.apps.cli.main import main

RECIPE = """
from dataclasses import replace
from headstart.apps.recipes.compact import compact

def recipe():
    made = compact("causal")
    layer = replace(made.model.trunk.layer, width=32, num_heads=2, feed_forward_width=48)
    trunk = replace(made.model.trunk, layer=layer, num_layers=2, vocabulary_size=292)
    model = replace(made.model, trunk=trunk)
    return replace(made, model=model, length=32, sequences_per_step=4)
"""


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory):
    """A folder to work in with text and a recipe, and a cache of its own."""
    folder = tmp_path_factory.mktemp("work")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_CACHE", str(folder / "cache"))
        patch.setattr(os, "fsync", lambda _descriptor: None)
        patch.chdir(folder)
        yield folder


def typed(*words: object):
    return CliRunner().invoke(main, [str(word) for word in words])


def pretrained(out: str, *words: object, text: str = "text.txt"):
    return typed("pretrain", text, "--recipe", "mine.py", "--device", "cpu", "--out", out, *words)


def refusal(result) -> str:
    """The one sentence of a command that was refused."""
    assert result.exit_code == 2, result.output
    assert result.stderr.count("headstart: ") == 1
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("headstart: ")
    assert last.endswith((".", "'.")) or "headstart pretrain" in last or "headstart resume" in last
    return last


@pytest.fixture(scope="module")
def run(place, toy_documents) -> Path:
    """A finished run."""
    (place / "mine.py").write_text(RECIPE)
    (place / "text.txt").write_text("\n".join(toy_documents(150)) + "\n")
    (place / "other.txt").write_text("\n".join(toy_documents(60, seed=5)) + "\n")
    result = pretrained("runs/first", "--steps", 12, "--rate", 0.01)
    assert result.exit_code == 0, result.output
    return Path("runs/first")


def test_a_run_ends_with_what_it_is_worth(run):
    result = pretrained("runs/same", "--steps", 2)
    assert result.exit_code == 0, result.output
    for what in ("held-out loss", "perplexity", "bits for each byte", "best step", "tokens read"):
        assert what in result.stdout
    assert "Step 2 of 2" in result.stderr


def test_programs_get_one_object_from_pretrain_and_from_resume(run):
    begun = json.loads(pretrained("runs/json", "--steps", 2, "--json").stdout)
    assert begun["is_finished"]
    assert begun["results"]["steps"] == 2
    assert json.loads(typed("resume", "runs/json", "--json").stdout) == begun


def test_a_finished_run_has_its_curves(run):
    assert (run / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert (run / "curves.svg").read_text().lstrip().startswith("<?xml")


def test_training_lowers_the_loss(run):
    rows = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    steps = [row["loss"] for row in rows if row["kind"] == "step"]
    assert len(steps) == 12
    assert steps[-1] < steps[0] - 0.3


def test_tokens_are_counted_into_steps(run):
    assert pretrained("runs/tokens", "--tokens", 400).exit_code == 0
    assert json.loads(Path("runs/tokens/results.json").read_text())["steps"] == 3


def test_minutes_are_measured_into_steps(run):
    result = pretrained("runs/minutes", "--minutes", 0.01)
    assert result.exit_code == 0, result.output
    recipe = json.loads(Path("runs/minutes/recipe.json").read_text())
    assert recipe["plan"]["num_steps"] >= 1


@pytest.mark.parametrize("objective", ["masked", "masked+next"])
def test_another_objective_is_one_option(run, objective):
    out = f"runs/{objective}"
    words = ("--objective", objective, "--hide", 0.3, "--whole-words", "--average", 0.9)
    result = pretrained(out, "--steps", 2, "--accumulate", 2, *words)
    assert result.exit_code == 0, result.output
    recipe = json.loads(Path(out, "recipe.json").read_text())
    assert recipe["objective"] == objective
    assert recipe["hiding"]["share"] == 0.3
    assert recipe["hiding"]["hides_words"] is True
    assert ("next sentence right" in result.stdout) == (objective == "masked+next")


def test_resuming_a_finished_run_shows_it_again_and_changes_nothing(run):
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    result = typed("resume", run)
    assert result.exit_code == 0
    assert "held-out loss" in result.stdout
    after = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert {path.name for path in before if before[path] != after[path]} <= {".lock"}


def test_a_run_that_lost_its_end_is_resumed_to_the_same_end(run):
    copy = Path("runs/cut")
    shutil.copytree(run, copy)
    for name in ("manifest.json", "results.json", "weights.safetensors"):
        (copy / name).unlink()
    shutil.rmtree(copy / "checkpoints")
    result = typed("resume", copy)
    assert result.exit_code == 0, result.output
    assert (copy / "weights.safetensors").read_bytes() == (run / "weights.safetensors").read_bytes()


def test_going_on_from_a_run_begins_at_its_loss(run):
    result = typed(
        "pretrain", "text.txt", "--from", run, "--steps", 1, "--rate", 1e-6, "--out", "runs/more"
    )
    assert result.exit_code == 0, result.output
    begun = json.loads(Path("runs/more/results.json").read_text())["held_out"]["loss"]
    ended = json.loads((run / "results.json").read_text())["held_out"]["loss"]
    assert begun == pytest.approx(ended, rel=1e-3)


def test_a_run_named_like_a_recipe_is_gone_on_from_all_the_same(run):
    shutil.copytree(run, "compact")
    result = typed(
        "pretrain", "other.txt", "--from", "compact", "--steps", 1, "--out", "runs/from-compact"
    )
    assert result.exit_code == 0, result.output
    recipe = json.loads(Path("runs/from-compact/recipe.json").read_text())
    assert recipe["model"]["trunk"]["layer"]["width"] == 32


def test_valid_text_is_what_is_looked_at(run):
    assert pretrained("runs/valid", "--steps", 2, "--valid", "other.txt").exit_code == 0
    seen = json.loads(Path("runs/valid/results.json").read_text())["held_out"]
    score = json.loads(typed("evaluate", "runs/valid", "--test", "other.txt", "--json").stdout)
    assert seen["num_pieces"] == score["scores"]["num_pieces"]
    assert seen["loss"] == pytest.approx(score["scores"]["loss"], rel=1e-5)


def test_runs_are_listed_as_a_table_and_as_json(run):
    table = typed("runs", "--in", "runs")
    assert table.exit_code == 0
    assert "runs/first" in table.stdout
    listed = json.loads(typed("runs", "--in", "runs", "--json").stdout)
    (first,) = [row for row in listed if row["folder"] == "runs/first"]
    assert (first["state"], first["step"], first["num_steps"]) == ("finished", 12, 12)
    assert first["objective"] == "causal"
    assert first["num_bytes"] > 100_000
    score = json.loads((run / "results.json").read_text())["held_out"]["bits_per_byte"]
    assert first["bits_per_byte"] == score


def test_a_folder_without_runs_says_how_to_begin_one(place):
    (place / "empty").mkdir()
    result = typed("runs", "--in", "empty")
    assert result.exit_code == 0
    assert "There is no run in empty" in result.stdout
    assert json.loads(typed("runs", "--in", "empty", "--json").stdout) == []


def test_a_run_is_removed_once_it_is_confirmed(run, monkeypatch):
    monkeypatch.setattr("headstart.apps.cli.runs.has_terminal", lambda: True)
    shutil.copytree(run, "runs/old")
    refused = CliRunner().invoke(main, ["runs", "remove", "runs/old"], input="n\n")
    assert refused.exit_code == 0
    assert "Nothing was removed" in refused.output
    assert Path("runs/old").is_dir()
    assert typed("runs", "remove", "runs/old", "--yes").exit_code == 0
    assert not Path("runs/old").exists()


def test_without_a_terminal_nothing_is_asked_and_nothing_removed(run):
    said = refusal(CliRunner().invoke(main, ["runs", "remove", str(run)], input="y\n"))
    assert f"whether to remove {run}: give '--yes' too" in said
    assert run.is_dir()


def test_a_run_is_scored_on_any_text(run):
    result = typed("evaluate", run, "--test", "other.txt", "--figures", "figures")
    assert result.exit_code == 0, result.output
    assert "times the trained one" in result.stdout
    for name in ("loss-by-position.png", "loss-by-position.svg"):
        assert f"Wrote figures/{name}" in result.stdout
        assert Path("figures", name).stat().st_size > 1_000


def test_scores_are_one_json_object_for_programs(run):
    result = typed("evaluate", run, "--test", "other.txt", "--test", "text.txt", "--json")
    seen = json.loads(result.stdout)
    assert [row["length"] for row in seen["by_position"]] == [32, 64, 128]
    assert seen["trained_length"] == 32
    assert seen["figures"] == []
    one = json.loads(typed("evaluate", run, "--test", "other.txt", "--json").stdout)
    assert one["scores"]["num_pieces"] < seen["scores"]["num_pieces"]


def test_a_missing_corpus_is_answered_in_a_sentence(run):
    assert "There is no file 'nowhere.txt'" in refusal(
        pretrained("runs/bad", "--steps", 1, text="nowhere.txt")
    )


def test_a_folder_that_is_a_run_is_answered_in_a_sentence(run):
    said = refusal(pretrained(str(run), "--steps", 1))
    assert f"headstart resume {run}" in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--objective", "mlm"], "'mlm' is not one of 'causal', 'masked', 'masked+next'"),
        (["--steps", "2", "--tokens", "5"], "The budget is given twice"),
        (["--steps", "2", "--minutes", "5"], "The budget is given twice"),
        (["--steps", "0"], "'0' is not a whole number from 1"),
        (["--tokens", "-5"], "'-5' is not a whole number from 1"),
        (["--minutes", "0"], "'0' is not a number"),
        (["--minutes", "nan"], "'nan' is not a number"),
        (["--steps", "1", "--recipe", "labb"], "There is no recipe 'labb'"),
        (["--steps", "1", "--recipe", "base"], "base has the objective translation"),
        (["--steps", "1", "--rate", "7"], "'--rate': '7' is not a number above 0 and at most 1"),
        (["--steps", "1", "--average", "1.5"], "'--average': '1.5' is not a number from 0"),
        (["--steps", "1", "--objective", "masked", "--hide", "1.5"], "hidden pieces is 1.5"),
        (["--steps", "1", "--objective", "masked+next", "--length", "4"], "at least 5"),
        (["--steps", "1", "--length", "9000"], "8,192"),
        (["--steps", "1", "--sequences", "100k"], "too few for one step"),
        (["--steps", "1", "--tokenizer", "nowhere"], "nowhere"),
        (["--steps", "1", "--valid", "nowhere.txt"], "nowhere.txt"),
        (["--steps", "1", "--device", "tpu"], "tpu"),
    ],
)
def test_what_cannot_be_is_answered_in_a_sentence_and_leaves_no_run(run, words, told):
    shutil.rmtree("runs/bad", ignore_errors=True)
    assert told in refusal(pretrained("runs/bad", *words))
    assert not Path("runs/bad/recipe.json").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--from", "nowhere"], "There is no run in nowhere"),
        (["--from", "runs/first", "--objective", "masked"], "cannot go on with masked"),
        (["--from", "runs/first", "--tokenizer", "runs/first/tokenizer"], "Leave one out"),
        (["--from", "runs/first", "--recipe", "lab"], "Leave one out"),
    ],
)
def test_going_on_from_what_does_not_fit_is_answered_in_a_sentence(run, words, told):
    result = typed("pretrain", "other.txt", "--steps", 1, "--out", "runs/bad", *words)
    assert told in refusal(result)
    assert not Path("runs/bad/recipe.json").exists()


def test_a_text_of_which_nothing_can_be_held_out_is_answered_in_a_sentence(run, place):
    (place / "tiny.txt").write_text("The ship leaves. The river crosses.\n")
    said = refusal(pretrained("runs/bad", "--steps", 1, text="tiny.txt"))
    assert "--valid" in said


def test_a_vocabulary_larger_than_the_text_allows_is_made_smaller_and_that_is_said(run):
    done = pretrained("runs/small", "--steps", 1, "--recipe", "compact", "--length", 16)
    assert done.exit_code == 0, done.stderr
    assert re.search(r"too small for 8,000 pieces; it allows [\d,]+\.", done.stderr)


@pytest.mark.parametrize("option", [("--hide", 0.2), ("--whole-words",)])
def test_hiding_pieces_from_a_causal_run_is_refused(run, option):
    said = refusal(pretrained("runs/bad", "--steps", 1, "--objective", "causal", *option))
    assert "--objective masked" in said


def test_text_without_pairs_leaves_the_folder_free_for_another_objective(run, place, toy_documents):
    documents = toy_documents(200, sentences=(1, 1))
    (place / "single.txt").write_text("\n".join(documents) + "\n")
    words = ("--steps", 1, "--tokenizer", "runs/first/tokenizer")
    result = pretrained("runs/single", *words, "--objective", "masked+next", text="single.txt")
    assert "has two sentences" in refusal(result)
    assert pretrained("runs/single", *words, text="single.txt").exit_code == 0


@pytest.mark.parametrize("command", ["resume", "evaluate"])
@pytest.mark.parametrize("folder", ["nowhere", "empty-too"])
def test_what_is_no_run_is_answered_in_a_sentence(run, place, command, folder):
    (place / "empty-too").mkdir(exist_ok=True)
    words = ["--test", "other.txt"] if command == "evaluate" else []
    assert folder in refusal(typed(command, folder, *words))


def test_removing_what_is_no_run_is_answered_in_a_sentence(run):
    assert "There is no run in nowhere" in refusal(typed("runs", "remove", "nowhere", "--yes"))
    assert "There is no run in nowhere" in refusal(typed("runs", "remove", "nowhere"))


def test_runs_are_looked_for_in_a_folder_that_is_there(run):
    assert "There is no folder nowhere" in refusal(typed("runs", "--in", "nowhere"))


def test_words_for_a_card_that_are_no_text_are_answered_in_a_sentence(run, place):
    (place / "latin.md").write_bytes(b"caf\xe9")
    said = refusal(typed("runs", "pack", run, "--out", "packed", "--about", "latin.md"))
    assert "latin.md is not UTF-8" in said
    assert not Path("packed").exists()


@pytest.mark.parametrize("is_missing", [False, True])
def test_a_finished_run_whose_weights_are_damaged_is_not_called_finished(run, is_missing):
    shutil.copytree(run, "runs/damaged", dirs_exist_ok=True)
    weights = Path("runs/damaged/weights.safetensors")
    if is_missing:
        weights.unlink()
    else:
        os.truncate(weights, 1_000)
    assert str(weights) in refusal(typed("resume", "runs/damaged"))


def test_a_folder_that_is_used_for_something_else_stays_as_it_is(run):
    Path("own").mkdir()
    Path("own/results.json").write_text("mine")
    assert "own is in use for something else" in refusal(pretrained("own", "--steps", 1))
    assert [path.name for path in Path("own").iterdir()] == ["results.json"]
    assert Path("own/results.json").read_text() == "mine"


@pytest.mark.parametrize("text", ["nowhere.txt", "tiny.txt"])
def test_a_command_that_fails_leaves_nothing_that_it_made(run, place, text):
    (place / "tiny.txt").write_text("The ship leaves. The river crosses.\n")
    refusal(pretrained("made/for/it", "--steps", 1, text=text))
    assert not Path("made").exists()


def test_a_run_without_a_name_is_refused(run):
    assert "The name is empty" in refusal(pretrained("", "--steps", 1))


@pytest.mark.parametrize("words", [["--test", "nowhere.txt"], ["--test", "blank.txt"], []])
def test_a_text_that_cannot_be_scored_on_is_answered_in_a_sentence(run, place, words):
    (place / "blank.txt").write_text("\n \n")
    refusal(typed("evaluate", run, *words))


@pytest.mark.parametrize("command", ["pretrain", "resume", "evaluate", "runs"])
def test_every_command_explains_itself(command):
    result = typed(command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout
