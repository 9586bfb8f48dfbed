"""The command `tokenizer`: learns, imports, says what is lost, and answers bad input in a line."""

import gzip
import json
import random

import pytest
import sentencepiece
from click.testing import CliRunner

from headstart.apps.cli.main import main
from headstart.tokenizers.folder import load_tokenizer


@pytest.fixture(scope="module")
def lines():
    draw = random.Random(2)
    letters = "aabcdeefghiijklmnoopqrstuvwxyz\u00e9"
    words = ["".join(draw.choices(letters, k=draw.randint(2, 7))) for _ in range(200)]
    return [" ".join(draw.choices(words, k=draw.randint(2, 12))) for _ in range(300)]


@pytest.fixture
def corpus(tmp_path, lines):
    path = tmp_path / "corpus.txt"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def foreign(tmp_path, corpus):
    """The options that import a model and a dictionary as others make them."""
    prefix = tmp_path / "foreign"
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(prefix), vocab_size=150, minloglevel=2
    )
    processor = sentencepiece.SentencePieceProcessor(model_file=f"{prefix}.model")
    pieces = processor.id_to_piece(list(range(3, processor.get_piece_size())))
    rows = "".join(f"{piece} 1\n" for piece in reversed(pieces))
    (tmp_path / "dict.txt").write_text(rows, encoding="utf-8")
    return ["--import", f"{prefix}.model", "--dictionary", str(tmp_path / "dict.txt")]


def run(*arguments):
    return CliRunner().invoke(main, ["tokenizer", *map(str, arguments)])


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, (result.stderr, result.exception)
    return result


def refused(*arguments) -> str:
    """Returns the one sentence that the command answers with."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), (result.stderr, repr(result.exception))
    *progress, sentence = result.stderr.splitlines()
    assert all(line.endswith("\u2026") for line in progress), result.stderr
    assert sentence.startswith("headstart: ")
    return sentence


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_tokenizer_is_learned_and_kept(tmp_path, corpus, lines, kind):
    result = done(corpus, "--size", "300", "--kind", kind, "--out", tmp_path / "made")
    tokenizer = load_tokenizer(tmp_path / "made")
    assert tokenizer.size == 300
    assert all(tokenizer.decode(tokenizer.encode(line)) == line for line in lines)
    for word in ("300", tokenizer.fingerprint[:12], str(tmp_path / "made"), "0.0 %"):
        assert word in result.stdout


def test_several_files_folders_and_patterns_are_one_corpus(tmp_path, lines):
    folder = tmp_path / "many"
    folder.mkdir()
    (folder / "a.txt.gz").write_bytes(gzip.compress("\n".join(lines[:150]).encode()))
    rows = "".join(json.dumps({"text": line}) + "\n" for line in lines[150:])
    (folder / "b.jsonl").write_text(rows)
    (tmp_path / "all.txt").write_text("\n".join(lines), encoding="utf-8")
    seen = [
        json.loads(done(*given, "--size", "300", "--out", tmp_path / out, "--json").stdout)
        for out, given in {
            "all": [tmp_path / "all.txt"],
            "folder": [folder],
            "pattern": [f"{folder}/*"],
            "twice": [folder / "a.txt.gz", folder],
        }.items()
    ]
    assert len({row["fingerprint"] for row in seen}) == 1


def test_json_says_the_same_as_the_folder(tmp_path, corpus):
    arguments = (corpus, "--size", "300", "--out", tmp_path / "made", "--json")
    value = json.loads(done(*arguments).stdout)
    tokenizer = load_tokenizer(tmp_path / "made")
    assert (value["size"], value["fingerprint"]) == (300, tokenizer.fingerprint)
    assert (value["texts_tried"], value["changed_share"], value["unknown_share"]) == (300, 0, 0)
    assert value["bytes_per_piece"] > 1
    assert value["folder"] == str(tmp_path / "made")


def test_a_seed_gives_one_tokenizer(tmp_path, corpus):
    seen = {
        json.loads(
            done(corpus, "--size", "300", "--seed", "7", "--out", tmp_path / name, "--json").stdout
        )["fingerprint"]
        for name in ("one", "two")
    }
    assert len(seen) == 1


def test_a_model_is_imported_with_the_ids_of_its_dictionary(tmp_path, foreign, corpus):
    value = json.loads(done(*foreign, corpus, "--out", tmp_path / "made", "--json").stdout)
    tokenizer = load_tokenizer(tmp_path / "made")
    pieces = [row.split(" ")[0] for row in (tmp_path / "dict.txt").read_text("utf-8").splitlines()]
    assert tokenizer.vocabulary == ("<sos>", "<pad>", "<eos>", "<oov>", *pieces)
    assert value["size"] == 4 + len(pieces)
    assert value["texts_tried"] == 300


def test_a_model_is_imported_without_any_text(tmp_path, foreign):
    result = done(*foreign, "--out", tmp_path / "made")
    assert "texts tried" not in result.stdout


def test_what_an_imported_model_loses_is_reported_as_a_share(tmp_path, foreign):
    (tmp_path / "odd.txt").write_text("to  do\nto \U0001f600 do\nto do\nto \u2014\n", "utf-8")
    value = json.loads(
        done(*foreign, tmp_path / "odd.txt", "--out", tmp_path / "made", "--json").stdout
    )
    assert value["changed_share"] == 0.75
    assert value["unknown_share"] > 0


def test_paragraphs_and_columns_can_be_chosen(tmp_path, lines):
    (tmp_path / "p.txt").write_text("\n\n".join(lines), "utf-8")
    (tmp_path / "t.csv").write_text("no,yes\n" + "".join(f"x,{line}\n" for line in lines), "utf-8")
    done(tmp_path / "p.txt", "--documents", "paragraphs", "--size", "300", "--out", tmp_path / "a")
    done(tmp_path / "t.csv", "--text-column", "yes", "--size", "300", "--out", tmp_path / "b")
    first, second = (load_tokenizer(tmp_path / name) for name in ("a", "b"))
    assert first.fingerprint == second.fingerprint


def test_bad_rows_are_refused_with_file_line_and_remedy(tmp_path, corpus):
    corpus.write_bytes(corpus.read_bytes() + b"bad \xff byte\n")
    sentence = refused(corpus, "--out", tmp_path / "made")
    for word in (f"{corpus}, line 301", "UTF-8", "--skip-bad"):
        assert word in sentence
    assert not (tmp_path / "made").exists()


def test_skipped_rows_are_counted_and_reported(tmp_path, corpus):
    corpus.write_bytes(corpus.read_bytes() + b"bad \xff byte\n" * 3 + b"nul \0\n")
    result = done(corpus, "--size", "300", "--skip-bad", "--out", tmp_path / "made", "--json")
    assert json.loads(result.stdout)["size"] == 300
    assert "Skipped 3 rows" in result.stderr
    assert "Skipped 1 row: " in result.stderr
    assert f"{corpus}, line 301" in result.stderr


def test_skipped_rows_are_reported_though_nothing_can_be_learned(tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"\xff\n" * 5)
    result = run(tmp_path / "bad.txt", "--skip-bad", "--out", tmp_path / "made")
    assert result.exit_code == 2
    assert "Skipped 5 rows" in result.stderr


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("empty.txt", b"", ["empty.txt", "empty"]),
        ("a.csv", b"text,label\na,1,2\n", ["a.csv, line 2", "3 cells"]),
        ("a.csv", b"one,two\na,1\n", ["a.csv", "one, two", "--text-column"]),
        ("a.jsonl", b'{"text": "\\ud800"}\n', ["a.jsonl, line 1", "surrogate"]),
        ("a.jsonl", b'{"text": 1\n', ["a.jsonl, line 1"]),
        ("a.txt.gz", gzip.compress(b"text\n" * 99)[:-9], ["a.txt.gz", "cut short"]),
        ("a.txt.zst", b"not compressed", ["a.txt.zst"]),
        ("a.txt", "text\n".encode("utf-16"), ["a.txt", "UTF-16"]),
        ("a.txt", b"x" * (10 << 20), ["a.txt, line 1", "longer"]),
        ("a.parquet", b"PAR1", ["a.parquet", "Parquet"]),
        ("a.txt", b"too little", ["size of at most"]),
    ],
    ids=range(11),
)
def test_bad_text_is_answered_in_one_line(tmp_path, name, data, words):
    (tmp_path / name).write_bytes(data)
    sentence = refused(tmp_path / name, "--out", tmp_path / "made")
    for word in words:
        assert word in sentence
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--out", "x"], ["nothing to learn from"]),
        (["absent.txt", "--out", "x"], ["absent.txt"]),
        (["corpus.txt"], ["--out"]),
        (["corpus.txt", "--out", "x", "--size", "10"], ["10", "264"]),
        (["corpus.txt", "--out", "x", "--size", "many"], ["many"]),
        (["corpus.txt", "--out", "x", "--kind", "word"], ["unigram", "bpe"]),
        (["corpus.txt", "--out", "x", "--documents", "pages"], ["paragraphs"]),
        (["--import", "a.model", "--out", "x"], ["--dictionary"]),
        (["--dictionary", "dict.txt", "--out", "x"], ["--import"]),
        (
            ["--import", "absent.model", "--dictionary", "corpus.txt", "--out", "x"],
            ["absent.model"],
        ),
        (["--import", "corpus.txt", "--dictionary", "corpus.txt", "--out", "x"], ["corpus.txt"]),
        (["corpus.txt", "--size", "300", "--out", "corpus.txt"], ["corpus.txt"]),
    ],
    ids=range(12),
)
def test_bad_options_are_answered_in_one_line(corpus, monkeypatch, arguments, words):
    monkeypatch.chdir(corpus.parent)
    sentence = refused(*arguments)
    for word in words:
        assert word in sentence


def test_nothing_is_kept_of_an_import_whose_text_is_bad(tmp_path, foreign):
    (tmp_path / "bad.txt").write_bytes(b"\xff\n")
    refused(*foreign, tmp_path / "bad.txt", "--out", tmp_path / "made")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("option", [["--size", "8000"], ["--kind", "unigram"]])
def test_options_of_learning_are_refused_beside_an_import(tmp_path, foreign, option):
    sentence = refused(*foreign, *option, "--out", tmp_path / "made")
    assert option[0] in sentence
    assert "--import" in sentence


def test_a_folder_that_cannot_be_written_is_noticed_before_anything_is_read(
    tmp_path, corpus, monkeypatch
):
    monkeypatch.setattr("headstart.apps.cli.tokenizer.make", None)
    sentence = refused(corpus, "--out", corpus / "inside" / "made")
    assert str(corpus / "inside" / "made") in sentence


def test_a_tokenizer_that_is_there_is_not_replaced(tmp_path, corpus):
    made = tmp_path / "made"
    done(corpus, "--size", "300", "--out", made)
    before = {path.name: path.read_bytes() for path in made.iterdir()}
    assert f"{made} holds a tokenizer already" in refused(corpus, "--size", "200", "--out", made)
    assert {path.name: path.read_bytes() for path in made.iterdir()} == before


def test_nothing_is_said_to_be_learned_where_there_is_no_text(tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"\xff\n" * 5)
    result = run(tmp_path / "bad.txt", "--skip-bad", "--out", tmp_path / "made")
    assert "Learning" not in result.stderr
    assert "no text to learn from" in result.stderr
    assert not (tmp_path / "made").exists()
