"""The commands transfer, evaluate and resume over labels, as they are typed."""

import csv
import json
import os

import pytest
from click.testing import CliRunner
from planted import planted

from headstart.apps.cli.main import main
from headstart.corpora.example_table import write_examples
from headstart.pipeline import training_run

FILES = ("--train", "text/train.csv", "--valid", "text/valid.csv", "--test", "text/test.csv")
QUICK = ("--device", "cpu", "--threads", 1, "--epochs", 2, "--fewest-steps", 0, "--size", 24)


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory):
    """A folder to work in with made-up text and a trunk."""
    folder = tmp_path_factory.mktemp("work")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_CACHE", str(folder / "cache"))
        patch.setattr(os, "fsync", lambda _descriptor: None)
        patch.setattr(training_run, "write_curves", lambda _folder: None)
        patch.chdir(folder)
        planted(folder, num_steps=2)
        yield folder


def typed(*words: object):
    return CliRunner().invoke(main, [str(word) for word in words])


def transferred(*words: object):
    return typed("transfer", "--from", "tiny", *FILES, *QUICK, *words)


def rows_of(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def refusal(result) -> str:
    """The one sentence of a command that was refused."""
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return result.stderr


@pytest.fixture(scope="module")
def run(place):
    """A classifier, and what was printed while it came to be."""
    result = transferred("--out", "run")
    assert result.exit_code == 0, result.output
    return place / "run", result.stdout


def test_teachers_answer_for_texts_without_labels(run, place):
    words = ("--unlabelled", "text/corpus.txt", "--unlabelled-most", 50, "--labelled-weight", 2)
    result = transferred("--teacher", "run", "--teacher", "tfidf", *words, "--out", "student")
    assert result.exit_code == 0, result.output
    assert "Learning from 50 of 600 texts without labels" in result.stderr
    recipe = json.loads((place / "student" / "recipe.json").read_text())
    assert recipe["transfer"]["labelled_weight"] == 2
    # Two epochs over 24 examples and 50 texts, 32 at a time.
    assert recipe["plan"]["num_steps"] == 2 * 3
    assert typed("evaluate", "student", "--test", "text/test.csv").exit_code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--unlabelled", "text/corpus.txt"), "--unlabelled needs --teacher beside it."),
        (("--teacher", "tfidf"), "--teacher needs --unlabelled beside it."),
        (("--teacher", "nobody", "--unlabelled", "text/corpus.txt"), "There is no run in nobody"),
        (("--teacher", "tiny", "--unlabelled", "text/corpus.txt"), "tiny is a language-model run"),
        (("--teacher", "tfidf", "--unlabelled", "no.txt"), "There is no file 'no.txt'"),
        (("--labelled-weight", 2), "'--labelled-weight' would change nothing without"),
        (("--unlabelled-most", 9), "'--unlabelled-most' would change nothing without"),
        (("--mode", "frozen", "--layer-decay", 0.5), "'--layer-decay' would change nothing"),
    ],
)
def test_a_teaching_that_cannot_be_is_refused_in_a_sentence(words, sentence, tmp_path):
    assert sentence in refusal(transferred(*words, "--out", tmp_path / "no"))


def test_the_swap_is_shown_tensor_by_tensor_with_its_proof(run):
    folder, shown = run
    swap = json.loads((folder / "swap.json").read_text())
    for tensor in swap["tensors"]:
        assert tensor["name"] in shown
    assert swap["loaded_sha256"][:16] in shown
    fates = {tensor["name"]: tensor["fate"] for tensor in swap["tensors"]}
    assert {name for name, fate in fates.items() if fate == "fitted"} == {
        "head.output.weight",
        "head.output.bias",
    }


def test_scores_are_shown_on_validation_and_both_tests(run):
    folder, shown = run
    results = json.loads((folder / "results.json").read_text())
    for name in ("validation", "full test", "clean test", "Confusion, full test"):
        assert name in shown
    assert f"{100 * results['test']['full']['accuracy']:.1f} %" in shown
    assert "headstart predict run TEXT" in shown


def test_evaluate_finds_the_same_scores_again(run):
    folder, _ = run
    result = typed("evaluate", "run", "--test", "text/test.csv", "--threads", 1, "--json")
    assert result.exit_code == 0, result.output
    seen, kept = (
        json.loads(result.stdout)["test"],
        json.loads((folder / "results.json").read_text()),
    )
    for part in ("full", "clean"):
        assert seen[part]["confusion"] == kept["test"][part]["confusion"]
        assert seen[part]["loss"] == pytest.approx(kept["test"][part]["loss"], abs=1e-5)


def test_evaluate_leaves_what_was_learned_from_out_of_the_clean_test(run, place):
    rows = [*rows_of(place / "text/train.csv")[:5], *rows_of(place / "text/test.csv")[:20]]
    # Another case and other marks are the same text.
    changed = [(f"{row['text'].upper()} !", row["label"], "") for row in rows]
    write_examples(place / "leaky.csv", changed)
    result = typed("evaluate", "run", "--test", "leaky.csv", "--threads", 1, "--json")
    found = json.loads(result.stdout)["test"]
    assert (found["full"]["num_items"], found["clean"]["num_items"]) == (25, 20)


@pytest.mark.parametrize("mode", ["frozen", "gradual"])
def test_other_modes_make_classifiers_too(mode):
    result = transferred("--mode", mode, "--out", mode, "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert said["is_finished"]
    parameters = said["results"]["parameters"]
    assert (parameters["learning"] < parameters["all"]) == (mode == "frozen")


@pytest.mark.parametrize(
    ("words", "fate"),
    [((), "fitted"), (("--draw-head",), "new"), (("--fresh-layers", 1), "new")],
)
def test_a_head_is_fitted_where_the_whole_trunk_was_pretrained(words, fate, place):
    out = f"head{len(words)}"
    result = transferred("--epochs", 1, *words, "--out", out)
    assert result.exit_code == 0, result.output
    tensors = json.loads((place / out / "swap.json").read_text())["tensors"]
    assert {each["fate"] for each in tensors if each["name"].startswith("head.")} == {fate}
    kept = json.loads((place / out / "recipe.json").read_text())["transfer"]
    assert kept["fits_head"] == (fate == "fitted")


def test_a_head_is_not_fitted_to_what_knows_nothing():
    fresh = ("--fresh-layers", 1, "--fit-head")
    assert "to be fitted, but the layers to begin anew are 1" in refusal(
        transferred(*fresh, "--out", "no")
    )
    cold = typed("transfer", *FILES, *QUICK, "--recipe", "compact", "--fit-head", "--out", "no")
    assert "The head is to be fitted, but the trunk is cold" in refusal(cold)


def test_a_cold_start_learns_a_tokenizer_of_its_own(place):
    small = ("--recipe", "compact", "--length", 32)
    result = typed("transfer", *FILES, *QUICK, *small, "--epochs", 1, "--out", "cold")
    assert result.exit_code == 0, result.output
    assert json.loads((place / "cold" / "swap.json").read_text()) is None
    assert not (place / "cold" / "corpus.sketch").exists()


def test_resume_says_what_a_finished_classifier_is_worth(run):
    result = typed("resume", "run")
    assert result.exit_code == 0, result.output
    assert "clean test" in result.stdout


def test_bad_input_is_one_sentence(run, place):
    (place / "one.csv").write_text("text,label\na,x\nb,x\n")
    (place / "odd.csv").write_text("text,label\ngood,neither\n")
    (place / "bare.csv").write_text("text\ngood\n")
    assert "holds a run already" in refusal(transferred("--out", "run"))
    assert "is a classifier" in refusal(
        typed("transfer", "--from", "run", *FILES, *QUICK, "--out", "again")
    )
    assert "--recipe is lab" in refusal(transferred("--recipe", "lab", "--out", "other"))
    assert "There is no run in nowhere" in refusal(
        typed("transfer", "--from", "nowhere", *FILES, "--out", "other")
    )
    assert "one label only, 'x'" in refusal(
        typed("transfer", "--from", "tiny", "--train", "one.csv", "--out", "other")
    )
    assert "no file 'none.csv'" in refusal(
        typed("transfer", "--from", "tiny", "--train", "none.csv", "--out", "other")
    )
    assert "label" in refusal(
        typed("transfer", "--from", "tiny", "--train", "bare.csv", "--out", "other")
    )
    assert "9,999 examples were asked for" in refusal(transferred("--size", 9999, "--out", "other"))
    assert "frozen" in refusal(
        typed("transfer", "--mode", "frozen", *FILES, *QUICK, "--recipe", "lab", "--out", "other")
    )
    for option in ("--rate", "--layer-decay"):
        refused = refusal(transferred(option, 2, "--out", "other"))
        assert f"'{option}': '2' is not a number above 0 and at most 1" in refused
    for share in (1, -0.1, "nan", "much"):
        refused = refusal(transferred("--warm-up", share, "--out", "other"))
        assert f"'--warm-up': '{share}' is not a number from 0 to below 1" in refused
    assert "'neither'" in refusal(typed("evaluate", "run", "--test", "odd.csv"))
    assert "no loss by position" in refusal(
        typed("evaluate", "run", "--test", "odd.csv", "--figures", "figures")
    )
    assert not (place / "other" / "recipe.json").exists()
