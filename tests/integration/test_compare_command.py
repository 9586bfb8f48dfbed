"""The command compare, as it is typed."""

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner
from planted import HASTY, planted, shuffled

from headstart.apps.cli.main import main
from headstart.locks import locked
from headstart.pipeline import training_run
from headstart.pipeline.comparing import config


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory):
    """A folder to work in with made-up text and a trunk, where little is learned in no time."""
    folder = tmp_path_factory.mktemp("work")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_CACHE", str(folder / "cache"))
        patch.setattr(os, "fsync", lambda _descriptor: None)
        patch.setattr(training_run, "write_curves", lambda _folder: None)
        for name, settings in (
            ("WARM", HASTY.warm),
            ("COLD", HASTY.cold),
            ("FROZEN", HASTY.frozen),
            ("GRADUAL", HASTY.gradual),
            ("TAUGHT", HASTY.taught),
        ):
            patch.setattr(config, name, settings)
        patch.chdir(folder)
        planted(folder, num_steps=2)
        yield folder


def typed(*words: object):
    return CliRunner().invoke(main, [str(word) for word in words])


def compared(*words: object):
    return typed(
        *("compare", "--from", "tiny", "--train", "text/train.csv", "--test", "text/test.csv"),
        *("--valid", "text/valid.csv", "--device", "cpu", "--workers", 1, *words),
    )


def refusal(result) -> str:
    """The one sentence of a command that was refused."""
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return result.stderr


@pytest.fixture(scope="module")
def out(place):
    """A comparison that is done."""
    result = compared("--sizes", "10, 20", "--seeds", 2, "--out", "out")
    assert result.exit_code == 0, result.output
    return place / "out", result


def test_the_verdict_the_tables_and_the_report_are_shown(out):
    folder, result = out
    results = json.loads((folder / "results.json").read_text())
    for sentence in results["verdict"]["sentences"]:
        assert sentence in result.stdout
    assert "With 20 labels, clean test" in result.stdout
    assert "Report: out/report.html" in result.stdout
    assert "Job 21 of 21: " in result.stderr
    assert " left" in result.stderr
    page = (folder / "report.html").read_text()
    assert "drawn from results.json beside it" in page


def test_asked_again_it_answers_at_once_and_a_program_gets_all(out):
    folder, _ = out
    result = compared("--sizes", "10,20", "--seeds", 2, "--out", "out", "--json")
    assert "Job" not in result.stderr
    answer = json.loads(result.stdout)
    assert answer["is_finished"]
    assert answer["results"] == json.loads((folder / "results.json").read_text())


def test_redraw_needs_the_results_alone(out, tmp_path):
    folder, _ = out
    (tmp_path / "results.json").write_bytes((folder / "results.json").read_bytes())
    result = typed("compare", "--out", tmp_path, "--redraw")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "report.html").read_bytes() == (folder / "report.html").read_bytes()
    assert f"Wrote {tmp_path / 'report.html'}" in result.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--sizes", "50"), "there are 40 training examples. Choose sizes from 2 to 40."),
        (("--sizes", "many"), "'many' is not a whole number"),
        (("--rates", "0"), "'0' is not a number above 0 and at most 1,000"),
        (("--steps", "5"), "'--steps' is about translators"),
        (("--seeds", "0"), "is not a whole number from 1 to 1,000"),
        (("--valid", "none.csv"), "There is no file 'none.csv'"),
        (("--from", "nowhere"), "There is no run in nowhere"),
        (("--device", "abacus"), "There is no device 'abacus'"),
        (("--systems", "warm,hot"), "'hot' is not one of 'warm', 'cold', 'frozen', 'gradual'"),
        (("--systems", "warm,taught"), "no texts without labels for taught. Name some with"),
        (("--unlabelled", "none.txt"), "There is no file 'none.txt'"),
        (("--systems", "cold,tfidf"), "The systems are cold, tfidf, but every comparison is"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(words, sentence, tmp_path):
    assert sentence in refusal(compared("--out", tmp_path / "no", *words))


@pytest.mark.parametrize("missing", ["--from", "--train", "--test"])
def test_what_is_missing_is_named(missing, tmp_path):
    given = {"--from": "tiny", "--train": "text/train.csv", "--test": "text/test.csv"}
    words = [word for name, value in given.items() if name != missing for word in (name, value)]
    assert f"Missing option '{missing}'" in refusal(typed("compare", *words, "--out", tmp_path))


def test_a_second_comparison_in_one_folder_is_turned_away(out):
    with locked(out[0]):
        assert "is in use by another process" in refusal(compared("--out", "out"))


def test_help_imports_no_torch_and_no_scikit_learn():
    script = (
        "import sys\n"
        "from headstart.apps.cli.main import main\n"
        "try:\n    main(['compare', '--help'])\n"
        "except SystemExit:\n    pass\n"
        "assert not {'torch', 'sklearn', 'scipy'} & set(sys.modules), 'heavy'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_systems_and_what_they_read_are_chosen(place):
    words = ("--sizes", "10", "--seeds", 1, "--out", "few", "--json")
    result = compared("--systems", "tfidf, warm", "--epochs", 1, "--length", 16, *words)
    results = json.loads(result.stdout)["results"]
    assert [row["key"] for row in results["systems"]] == ["warm", "tfidf"]
    assert results["question"]["settings"]["warm"]["length"] == 16
    assert results["verdict"]["answer"] == "not asked"
    shown = compared("--systems", "warm,tfidf", "--epochs", 1, "--length", 16, *words[:-1])
    assert "no cold start was compared" in shown.stdout


def test_what_is_said_of_all_networks_arrives(place):
    words = "--epochs 2 --fewest-steps 1 --length 12 --long-texts windows --pooling last"
    result = compared(
        *(*words.split(), "--dropout", 0.3, "--warm-up", 0.25, "--systems", "warm,tfidf"),
        *("--sizes", 10, "--seeds", 1, "--out", "said", "--json"),
    )
    assert result.exit_code == 0, result.output
    used = json.loads(result.stdout)["results"]["question"]["settings"]["warm"]
    said = {"epochs": 2, "fewest_steps": 1, "length": 12, "pooling": "last"}
    said |= {"dropout": 0.3, "warm_up_share": 0.25}
    assert {name: used[name] for name in said} == said


def test_texts_without_labels_bring_a_system_that_is_taught(place):
    words = ("--sizes", "10", "--seeds", 1, "--out", "taught", "--systems", "warm,tfidf")
    result = compared("--unlabelled", "text/corpus.txt", *words)
    assert result.exit_code == 0, result.output
    assert "Job 5 of 5: " in result.stderr
    assert "taught \N{MINUS SIGN} warm" in result.stdout
    results = json.loads((place / "taught" / "results.json").read_text())
    assert [row["key"] for row in results["systems"]] == ["warm", "taught", "tfidf"]
    (file,) = results["question"]["unlabelled"]["files"]
    assert file["path"] == str(place / "text" / "corpus.txt")


def test_several_trunks_share_a_cold_start(place):
    shuffled(place / "tiny", place / "twin")
    result = compared("--from", "twin", "--sizes", "10", "--seeds", 1, "--out", "two", "--json")
    systems = [row["key"] for row in json.loads(result.stdout)["results"]["systems"]]
    assert systems == [
        *("warm:tiny", "warm:twin", "cold", "frozen:tiny", "frozen:twin", "tfidf", "majority")
    ]


def test_a_comparison_is_no_place_for_a_run_and_the_other_way_round(out, place):
    examples = ("--train", "text/train.csv", "--valid", "text/valid.csv", "--device", "cpu")
    said = refusal(typed("transfer", "--from", "tiny", *examples, "--out", "out"))
    assert "out is in use for something else" in said
    assert not (place / "out" / "recipe.json").exists()
    assert "tiny holds a run already" in refusal(compared("--out", "tiny"))
    (place / "own").mkdir()
    (place / "own" / "results.json").write_text("mine")
    assert "it holds results.json" in refusal(compared("--out", "own"))
    assert [path.name for path in (place / "own").iterdir()] == ["results.json"]
