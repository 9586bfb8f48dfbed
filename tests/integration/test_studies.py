"""A study from its first command to its record, on made-up text that takes seconds."""

import json
import lzma
import os
import re
import shlex
import sys
from pathlib import Path

import pytest
import sentencepiece
from click.testing import CliRunner
from planted import HASTY

from headstart.apps.cli.main import main
from headstart.corpora.generated import GeneratedConfig, generated_documents, generated_examples
from headstart.pipeline import training_run
from headstart.pipeline.comparing import config
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer

ROOT = Path(__file__).parents[2]
TEXT = GeneratedConfig(num_documents=150, num_words=20, num_neutral_words=10)
COUNTS = {"train": 40, "valid": 20, "test": 60}


def write_books(folder: Path) -> None:
    """Writes made-up reviews, cut as the documents' are, with their model and dictionary."""
    folder.mkdir(parents=True)
    documents = list(generated_documents(TEXT))
    model = learn_tokenizer(documents, TokenizerConfig(size=320)).model
    (folder / "sentencepiece.french.model").write_bytes(model)
    cutter = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = [cutter.id_to_piece(number) for number in range(cutter.get_piece_size())]
    known = [piece for piece in pieces if not piece.startswith("<")]
    (folder / "dict.txt").write_text("".join(f"{piece} 1\n" for piece in known))
    for split, num in COUNTS.items():
        rows = list(generated_examples(TEXT, split, num))
        cut = [" ".join(cutter.encode(text, out_type=str)) for text, _ in rows]
        (folder / f"{split}.review.spm").write_text("".join(f"{line}\n" for line in cut))
        (folder / f"{split}.label").write_text("".join(f"{label}\n" for _, label in rows))
    half = len(documents) // 2
    for name, part in (("general", documents[:half]), ("reviews", documents[half:])):
        path = folder.parent / f"french-{name}.txt.xz"
        path.write_bytes(lzma.compress("\n".join(part).encode()))


@pytest.fixture
def documents(monkeypatch, tmp_path):
    """The study of the documents, with few labels, hasty settings, and commands done in here."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.syspath_prepend(ROOT / "benchmarks" / "studies")
    import documents
    import study

    def do(self, batch):
        for words in batch:
            # Compiling takes longer than all the rest.
            typed = [self.real(word) for word in words[1:] if word != "--compile"]
            done = CliRunner().invoke(main, typed)
            assert done.exit_code == 0, f"{shlex.join(words)}: {done.output}"

    monkeypatch.setattr(study.Study, "do", do)
    monkeypatch.setattr(documents, "SEQUENCES", 2)
    ways = {
        name: re.sub(r"--epochs \d+", "--epochs 1", how) for name, how in documents.WAYS.items()
    }
    monkeypatch.setattr(documents, "WAYS", ways)
    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HEADSTART_RECORDS", str(tmp_path / "records"))
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    monkeypatch.setattr(training_run, "write_curves", lambda _folder: None)
    for name, settings in (("WARM", HASTY.warm), ("COLD", HASTY.cold), ("FROZEN", HASTY.frozen)):
        monkeypatch.setattr(config, name, settings)
    return documents


def test_a_study_is_done_and_a_reader_can_redo_each_line(documents, monkeypatch, tmp_path):
    write_books(tmp_path / "data" / "cls-books")
    words = ["--data", str(tmp_path / "data"), "--work", str(tmp_path / "work"), "--device", "cpu"]
    few = [
        "--threads",
        "1",
        "--workers",
        "1",
        "--minutes",
        "0.002",
        "--seeds",
        "1",
        "--sizes",
        "20",
    ]
    monkeypatch.setattr(sys, "argv", ["documents.py", *words, *few])
    documents.main()
    [path] = (tmp_path / "records").iterdir()
    text = path.read_text()
    record = json.loads(text)
    assert str(tmp_path) not in text
    commands = ["tokenizer", "pretrain", "compare", "compare"]
    assert [line.split()[1] for line in record["commands"]] == commands
    run = record["runs"]["lab"]
    assert (run["recipe"], run["objective"], run["is_given"]) == ("lab", "causal", False)
    assert run["results"]["steps"] == run["num_steps"] > 0
    assert list(record["comparisons"]) == ["as-they-did", "as-usual"]
    kinds = {"warm", "cold", "frozen", "tfidf", "majority"}
    for compared in record["comparisons"].values():
        assert {row["key"] for row in compared["systems"]} == kinds
        assert compared["leaks"]["num_test"] == COUNTS["test"]
    # Nothing is done twice: the trunk stands, and the comparison finds its jobs.
    before = (tmp_path / "work" / "lab" / "manifest.json").stat().st_mtime_ns
    documents.main()
    assert (tmp_path / "work" / "lab" / "manifest.json").stat().st_mtime_ns == before
    again = json.loads(path.read_text())
    assert again["comparisons"] == record["comparisons"]


def test_every_strength_of_tfidf_is_scored_on_both_tests(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "benchmarks" / "studies")
    import tfidf_strengths

    from headstart.evaluation.baselines.tfidf import STRENGTHS

    books = tmp_path / "data" / "cls-books"
    write_books(books)
    # A copy of a training review is in the full test alone.
    (copied, *_) = (books / "train.review.spm").read_text().splitlines()
    test = (books / "test.review.spm").read_text().splitlines()
    (books / "test.review.spm").write_text("\n".join([copied, *test[1:]]) + "\n")
    monkeypatch.setenv("HEADSTART_RECORDS", str(tmp_path / "records"))
    monkeypatch.setattr(sys, "argv", ["tfidf_strengths.py", "--data", str(tmp_path / "data")])
    tfidf_strengths.main()
    [path] = (tmp_path / "records").iterdir()
    rows = json.loads(path.read_text())["strengths"]
    assert [row["strength"] for row in rows] == list(STRENGTHS)
    for row in rows:
        assert row["full"]["num_items"] == COUNTS["test"]
        assert row["clean"]["num_items"] < COUNTS["test"]
        assert row["clean"]["low"] <= row["clean"]["mean"] <= row["clean"]["high"]
