"""The command `predict` on tiny classifiers: what it prints and writes, and what it refuses."""

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tiny_classifiers import LABELS, recipe_of, run_of, sentence, write_run

from headstart.apps.cli.main import main
from headstart.pipeline.classifier import load_classifier, probabilities


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return write_run(tmp_path_factory.mktemp("run") / "run", run_of(recipe_of("compact-masked")))


@pytest.fixture
def invoke(run):
    def call(*words: object, **extra: object):
        return CliRunner().invoke(main, ["predict", str(run), *map(str, words)], **extra)

    return call


def expected(run: Path, texts: list[str]) -> list[dict[str, float]]:
    found = probabilities(load_classifier(run, "cpu"), texts)
    return [dict(zip(LABELS, shares.tolist(), strict=True)) for shares in found]


def test_texts_are_labelled_one_a_line(invoke, run):
    result = invoke("good film", "slow plot")
    assert result.exit_code == 0, result.output
    for line, shares, text in zip(
        result.stdout.splitlines(),
        expected(run, ["good film", "slow plot"]),
        ("good film", "slow plot"),
        strict=True,
    ):
        label = max(shares, key=shares.get)
        assert line.split(maxsplit=3) == [label, f"{100 * shares[label]:.1f}", "%", text]


def test_programs_get_an_object_a_line(invoke, run):
    result = invoke("good film", "", "--json")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["line"] for row in rows] == [1, 2]
    for row, shares in zip(rows, expected(run, ["good film", ""]), strict=True):
        assert row["probabilities"] == shares
        assert row["label"] == max(shares, key=shares.get)
        assert row["probability"] == max(shares.values())


def test_half_precision_is_asked_for(invoke, run):
    result = invoke("good film", "--precision", "bf16", "--json")
    assert result.exit_code == 0, result.output
    (shares,) = probabilities(load_classifier(run, "cpu", "bf16"), ["good film"])
    assert list(json.loads(result.stdout)["probabilities"].values()) == shares.tolist()
    refused = invoke("good film", "--precision", "fp16")
    assert refused.exit_code == 2
    assert "fp32" in refused.output
    assert "bf16" in refused.output


def test_a_dash_reads_what_comes_in(invoke):
    typed, piped = invoke("good film", "--json"), invoke("-", "--json", input="good film\n")
    assert piped.stdout == typed.stdout
    assert "once" in invoke("-", "-").stderr


@pytest.mark.parametrize("kind", ["txt", "csv", "jsonl"])
def test_a_file_becomes_a_table(invoke, run, tmp_path, kind):
    texts = [sentence(seed, 1 + seed % 12) for seed in range(40)]
    path, out = tmp_path / f"texts.{kind}", tmp_path / "new" / "labels.csv"
    if kind == "txt":
        # A line without text is none, but it counts.
        path.write_text("\n" + "\n".join(texts) + "\n")
    elif kind == "csv":
        path.write_text("id,text\n" + "".join(f"{n},{text}\n" for n, text in enumerate(texts)))
    else:
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    result = invoke("--file", path, "--out", out)
    assert result.exit_code == 0, result.output
    assert f"Wrote {out}: 40 texts" in result.stdout
    rows = list(csv.DictReader(out.read_text().splitlines()))
    first = 1 if kind == "jsonl" else 2
    assert [int(row["line"]) for row in rows] == list(range(first, first + 40))
    for row, shares in zip(rows, expected(run, texts), strict=True):
        assert row["label"] == max(shares, key=shares.get)
        for label in LABELS:
            assert float(row[f"probability_{label}"]) == pytest.approx(shares[label], abs=1e-5)
    report = json.loads(invoke("--file", path, "--out", out, "--json").stdout)
    assert report["num_texts"] == 40
    assert sum(report["labels"].values()) == 40
    assert len(invoke("--file", path, "--json").stdout.splitlines()) == 40


def test_bad_rows_are_named_or_skipped(invoke, tmp_path):
    path = tmp_path / "texts.txt"
    path.write_bytes(b"good film\n\xff\xfebad\nslow plot\n")
    result = invoke("--file", path)
    assert (result.exit_code, "line 2" in result.stderr) == (2, True)
    result = invoke("--file", path, "--skip-bad")
    assert len(result.stdout.splitlines()) == 2
    assert "Skipped 1 row" in result.stderr


def test_a_decision_is_explained_in_one_page(invoke, tmp_path):
    page = tmp_path / "pages" / "why.html"
    result = invoke("good film but slow plot", "--explain", page)
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 1
    assert "completeness gap" in result.stderr
    text = page.read_text()
    assert "The shares add up" in text
    assert "does not say from which examples it learned" in text
    assert "://" not in text


def test_a_file_of_which_nothing_can_be_read_is_no_answer(invoke, tmp_path):
    path, out = tmp_path / "texts.txt", tmp_path / "labels.csv"
    path.write_bytes(b"\xff\n\xffbad\n")
    for words in ([], ["--out", out], ["--json"]):
        result = invoke("--file", path, "--skip-bad", *words)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert f"{path} holds no text that can be read" in result.stderr
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "There is no text"),
        (["a", "--file", "b.txt"], "texts and a --file"),
        (["--file", "missing.txt"], "There is no file 'missing.txt'"),
        (["--file", ""], "There is no file ''"),
        (["a", "--out", "labels.txt"], "Name a .csv file"),
        (["a", "b", "--explain", "page.html"], "--explain is for one text"),
        (["--file", "b.txt", "--explain", "page.html"], "--explain is for one text"),
        (["a", "--explain", "page.pdf"], "Name a .html"),
        (["a", "--explain", "page.html", "--precision", "bf16"], "adds up in single precision"),
        (["a\udcff"], "is not UTF-8"),
        (["a", "--device", "abacus"], "abacus"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(invoke, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    result = invoke(*words)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_files_that_would_be_lost_or_mixed_up_are_refused(invoke, tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("text\ngood film\n")
    result = invoke("--file", tmp_path / "a.csv", "--out", tmp_path / "a.csv")
    assert "which is read. Choose another place." in result.stderr
    result = invoke("--file", tmp_path)
    assert "stands for 2 files" in result.stderr
    (tmp_path / "empty.txt").write_text("")
    assert "is empty" in invoke("--file", tmp_path / "empty.txt").stderr
    # A file stands where the folder should be.
    result = invoke("good", "--out", tmp_path / "a.csv" / "labels.csv")
    assert result.exit_code == 2
    assert "Cannot write" in result.stderr


def test_a_run_that_is_none_says_what_to_do(tmp_path):
    result = CliRunner().invoke(main, ["predict", str(tmp_path), "good"])
    assert result.exit_code == 2
    assert "There is no run in" in result.stderr


def test_weights_without_a_manifest_are_not_said_to_be_unlearned(run, tmp_path):
    copy = shutil.copytree(run, tmp_path / "copy")
    (copy / "manifest.json").unlink()
    result = CliRunner().invoke(main, ["predict", str(copy), "good"])
    assert result.exit_code == 2
    assert "Restore manifest.json from a copy" in result.stderr


def test_help_imports_no_torch():
    code = (
        "import sys\nfrom headstart.apps.cli.main import main\n"
        "try: main(['predict', '--help'])\n"
        "except SystemExit: pass\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
