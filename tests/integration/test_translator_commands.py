"""The commands compare, evaluate and translate --explain over translators, as they are typed."""

import json
import os
import random

import pytest
import sacrebleu
from click.testing import CliRunner
from planted import planted

from headstart.apps.cli.main import main
from headstart.evaluation.translation import corpus_bleu
from headstart.files import read_sealed_json
from headstart.pipeline import training_run

WORDS = ["good", "bad", "film", "plot", "old", "new", "long", "short"]
QUICK = ("--device", "cpu", "--threads", 1)
PAIRS = ("--source", "train.src", "--target", "train.tgt")
VALID = ("--valid-source", "valid.src", "--valid-target", "valid.tgt")
TEST = ("--test-source", "test.src", "--test-target", "test.tgt")


def typed(*words: object):
    return CliRunner().invoke(main, [str(word) for word in words])


def refusal(result) -> str:
    """The one sentence of a command that was refused."""
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return result.stderr


def compared(*words: object):
    return typed("compare", "--from", "tiny", *PAIRS, *VALID, *TEST, *QUICK, *words)


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory):
    """A folder to work in with pairs, of which a side is the other backwards, and a trunk."""
    folder = tmp_path_factory.mktemp("work")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_CACHE", str(folder / "cache"))
        patch.setattr(os, "fsync", lambda _descriptor: None)
        patch.setattr(training_run, "write_curves", lambda _folder: None)
        patch.chdir(folder)
        planted(folder, num_steps=2)
        draw = random.Random(3)
        for name, num_pairs in (("train", 60), ("valid", 8), ("test", 8)):
            lines = [[name, *draw.choices(WORDS, k=draw.randint(3, 6))] for _ in range(num_pairs)]
            (folder / f"{name}.src").write_text("".join(f"{' '.join(row)}\n" for row in lines))
            (folder / f"{name}.tgt").write_text(
                "".join(f"{' '.join(reversed(row))}\n" for row in lines)
            )
        yield folder


@pytest.fixture(scope="module")
def comparison(place):
    """What a comparison of one seed printed, for programs."""
    result = compared("--steps", 2, "--seeds", 1, "--out", "compared", "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_comparison_trains_both_systems_and_says_how_far_apart_they_are(comparison, place):
    results = comparison["results"]
    assert results["systems"] == ["warm", "cold"]
    assert (results["num_seeds"], results["num_sentences"]) == (1, 8)
    kept = read_sealed_json(place / "compared" / "translations" / "warm-0.json")
    truth = (place / "test.tgt").read_text().splitlines()
    assert results["bleu"]["of_by_seed"] == [corpus_bleu(kept["texts"], truth)]
    swaps = [
        json.loads((place / "compared" / "jobs" / name / "swap.json").read_text())
        for name in ("warm-0", "cold-0")
    ]
    assert swaps[0] is not None
    assert swaps[1] is None


def test_a_finished_comparison_is_told_again_at_once(comparison):
    result = compared("--steps", 2, "--seeds", 1, "--out", "compared")
    assert result.exit_code == 0, result.output
    assert "warm against cold" in result.stdout
    assert "tok:13a" in result.stdout
    assert "at least 3 seeds" in result.stdout
    assert "Beginning" not in result.stderr


def test_the_report_is_drawn_again_from_the_results_alone(comparison, place):
    report = place / "compared" / "report.html"
    first = report.read_bytes()
    report.unlink()
    result = typed("compare", "--out", "compared", "--redraw")
    assert result.exit_code == 0, result.output
    assert report.read_bytes() == first
    assert b"://" not in first
    assert b"pretraining helps here" in first


def test_another_question_in_the_same_folder_is_refused(comparison):
    assert "budget" in refusal(compared("--steps", 3, "--seeds", 1, "--out", "compared"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--train", "x.csv"), "--train"),
        (("--sizes", "10"), "--sizes"),
        (("--from", "tiny"), "2 were given"),
    ],
)
def test_what_only_classifiers_have_is_refused(words, said):
    assert said in refusal(compared("--steps", 2, "--out", "other", *words))


def test_a_comparison_needs_a_test():
    result = typed("compare", "--from", "tiny", *PAIRS, "--out", "other")
    assert "--test-source" in refusal(result)


def test_evaluate_scores_what_translate_writes(comparison, place):
    run = "compared/jobs/warm-0"
    words = ("--source", "test.src", "--target", "test.tgt", "--beam", 2, *QUICK, "--json")
    score = json.loads(typed("evaluate", run, *words).stdout)
    written = typed("translate", run, "--file", "test.src", "--beam", 2, *QUICK).stdout
    truth = (place / "test.tgt").read_text().splitlines()
    expected = sacrebleu.corpus_chrf(written.splitlines(), [truth]).score
    assert score["scores"]["chrf"] == pytest.approx(expected)
    assert score["against"] is None
    assert score["loss"]["num_pieces"] > 8


def test_evaluate_holds_one_run_against_another(comparison, place):
    words = ("--source", "test.src", "--target", "test.tgt", *QUICK)
    against = ("--against", "compared/jobs/cold-0")
    result = typed("evaluate", "compared/jobs/warm-0", *words, *against)
    assert result.exit_code == 0, result.output
    assert "compared/jobs/warm-0 against" in result.stdout
    assert "Paired bootstrap over 8 sentences" in result.stdout


def test_evaluate_reads_tables_of_pairs(comparison, place):
    lines = zip(
        *((place / name).read_text().splitlines() for name in ("test.src", "test.tgt")),
        strict=False,
    )
    table = "".join(f"{source}\t{target}\n" for source, target in lines)
    (place / "test.tsv").write_text("source\ttarget\n" + table)
    run = "compared/jobs/cold-0"
    by_table = typed("evaluate", run, "--test", "test.tsv", *QUICK, "--json")
    by_lines = typed(
        "evaluate", run, "--source", "test.src", "--target", "test.tgt", *QUICK, "--json"
    )
    assert json.loads(by_table.stdout) == json.loads(by_lines.stdout)


@pytest.mark.parametrize(
    ("run", "words", "said"),
    [
        ("compared/jobs/cold-0", ("--source", "test.src"), "without --target"),
        ("compared/jobs/cold-0", (), "neither were given"),
        ("compared/jobs/cold-0", ("--test", "t.tsv", "--figures", "f"), "is a translator"),
        ("tiny", ("--source", "test.src", "--target", "test.tgt"), "is no translator"),
        ("tiny", (), "--test"),
    ],
)
def test_evaluate_refuses_what_does_not_fit(comparison, run, words, said):
    assert said in refusal(typed("evaluate", run, *words, *QUICK))


def test_a_translation_is_explained_in_one_page(comparison, place):
    result = typed(
        "translate", "compared/jobs/warm-0", "test good film", "--explain", "p.html", *QUICK
    )
    assert result.exit_code == 0, result.output
    page = (place / "p.html").read_text()
    assert "://" not in page
    assert "test good film" in page
    for words in ("The candidates", "Layer 1, head 1", "The mask", "future is 0, exactly"):
        assert words in page
    # All that a beam of four has kept.
    assert page.count('<th scope="row" class="number">') == 4
