"""The commands that use a run, on tiny runs of each objective."""

import json
import random
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tiny_classifiers import recipe_of, run_of, write_run

from headstart.apps.cli.main import main
from headstart.decoding import STRATEGIES

WORDS = ["le", "la", "chat", "livre", "maison", "rouge", "grand", "voit", "mange", "lit", "ville"]
OBJECTIVES = ("causal", "masked", "masked+next")
RECIPE = """
from dataclasses import replace
from headstart.apps.recipes.bert import bert
from headstart.apps.recipes.compact import compact

def recipe():
    made = bert() if "{objective}" == "masked+next" else compact("{objective}")
    layer = replace(made.model.trunk.layer, width=32, num_heads=2, feed_forward_width=48)
    trunk = replace(made.model.trunk, layer=layer, num_layers=2, vocabulary_size=290)
    model = replace(made.model, trunk=trunk)
    return replace(made, model=model, length=48, sequences_per_step=4)
"""


def text_of(draw: random.Random) -> str:
    return " ".join(draw.choices(WORDS, k=draw.randint(4, 12))) + "."


@pytest.fixture(scope="module")
def texts() -> list[str]:
    draw = random.Random(1)
    return [text_of(draw) for _ in range(300)]


@pytest.fixture(scope="module")
def runs(texts, tmp_path_factory) -> dict[str, Path]:
    """Folders of runs that were pretrained for a moment, by their objective."""
    folder = tmp_path_factory.mktemp("runs")
    # Two sentences a document, as masked+next needs.
    pairs = zip(texts[::2], texts[1::2], strict=True)
    (folder / "text.txt").write_text("".join(f"{one} L{other[1:]}\n" for one, other in pairs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_CACHE", str(folder / "cache"))
        for objective in OBJECTIVES:
            (folder / "mine.py").write_text(RECIPE.format(objective=objective))
            words = f"pretrain {folder}/text.txt --recipe {folder}/mine.py --steps 4 --rate 0.01"
            result = CliRunner().invoke(
                main, [*words.split(), "--device", "cpu", "--out", str(folder / objective)]
            )
            assert result.exit_code == 0, result.output
    return {objective: folder / objective for objective in OBJECTIVES}


@pytest.fixture
def invoke(runs):
    def run(command: str, objective: str, *words: str, **extra: object):
        return CliRunner().invoke(main, [command, str(runs[objective]), *words], **extra)

    return run


@pytest.fixture
def corpus(texts, tmp_path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts[:60]) + "\n")
    return path


def sentence(result) -> str:
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("headstart: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_generate_prints_the_prompt_and_what_comes_behind(invoke):
    first, again, other = (
        invoke("generate", "causal", "le chat", "--pieces", "12", "--seed", seed)
        for seed in ("1", "1", "2")
    )
    assert first.exit_code == 0, first.output
    assert first.stdout.startswith("le chat")
    assert first.stdout == again.stdout != other.stdout


def test_generate_reads_the_prompt_from_standard_input(invoke):
    typed, piped = (
        invoke("generate", "causal", prompt, "--strategy", "greedy", "--pieces", "9", input=piped)
        for prompt, piped in (("le chat", ""), ("-", "le chat\n"))
    )
    assert typed.stdout == piped.stdout


def test_generate_without_a_prompt_begins_a_text(invoke):
    result = invoke("generate", "causal", "--pieces", "9")
    assert result.exit_code == 0, result.output
    assert result.stdout.strip()


def test_generate_as_json_has_every_text_and_how_it_was_drawn(invoke):
    words = ["--count", "3", "--pieces", "8", "--top-k", "20", "--temperature", "1.2", "--json"]
    answer = json.loads(invoke("generate", "causal", "le chat", *words).stdout)
    assert answer["choosing"] == {
        "strategy": "sample",
        "temperature": 1.2,
        "top_k": 20,
        "top_p": 0.95,
        "seed": 0,
    }
    assert len(answer["texts"]) == 3
    for one in answer["texts"]:
        assert one["text"] == "le chat" + one["continuation"]
        assert one["num_pieces"] <= 8


def test_generate_gives_the_best_texts_of_a_beam(invoke):
    words = ["--strategy", "beam", "--count", "3", "--pieces", "8", "--json"]
    answer = json.loads(invoke("generate", "causal", "le chat", *words).stdout)
    assert answer["choosing"] == {
        "strategy": "beam",
        "width": 4,
        "length_penalty": 1.0,
        "num_best": 3,
    }
    assert len({one["text"] for one in answer["texts"]}) == 3
    scores = [
        one["log_probability"] / (one["num_pieces"] + one["has_ended"]) for one in answer["texts"]
    ]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("generate masked le", "cannot write on"),
        ("generate masked+next le", "cannot write on"),
        ("generate causal le --temperature 0", "choose the strategy greedy"),
        ("generate causal le --strategy greedy --top-p 0.5", "--top-p would change nothing"),
        ("generate causal le --strategy greedy --count 2", "--count would change nothing"),
        ("generate causal le --pieces 9000", "ask for fewer pieces"),
        ("generate causal le --strategy best", "'best' is not one of"),
        ("generate causal le --beam 4", "--beam would change nothing: sample draws"),
        ("generate causal le --strategy beam --top-k 4", "--top-k would change nothing: beam"),
        ("generate causal le --strategy beam --beam 2 --count 3", "best 3 were asked for"),
        ("generate causal le --strategy beam --beam 65", "is not a whole number from 1 to 64"),
        ("fill causal <mask>", "never seen a blank"),
        ("fill masked chat", "There is no <mask>"),
        ("embed masked --file no-such-file.txt --out v.npy", "no-such-file.txt"),
        ("embed masked --file README.md", "There is nothing to do"),
        ("embed masked --file x.txt --out v.npy --pooling mean", "Add --what texts"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(invoke, words, expected):
    assert expected in sentence(invoke(*words.split()))


@pytest.mark.parametrize("shape", ["compact-causal", "compact-masked"])
@pytest.mark.parametrize("command", ["generate", "fill"])
def test_a_classifier_scores_no_pieces_and_says_so_first(command, shape, tmp_path):
    run = write_run(tmp_path / "run", run_of(recipe_of(shape)))
    said = sentence(CliRunner().invoke(main, [command, str(run), "a <mask>"]))
    assert f"{run} is a classifier" in said
    assert f"headstart predict {run} TEXT" in said


def test_vectors_go_into_npy_only(invoke, corpus):
    assert "Name a .npy file" in sentence(
        invoke("embed", "masked", "--file", str(corpus), "--out", str(corpus))
    )


@pytest.mark.parametrize("named", ["texts.jsonl", "texts.npy"])
def test_vectors_never_replace_the_texts_that_they_are_of(invoke, tmp_path, named):
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "le chat"}\n')
    if named == "texts.npy":
        (tmp_path / named).symlink_to(path)
    words = ("--file", str(path), "--out", str(tmp_path / "texts.npy"))
    said = sentence(invoke("embed", "masked", *words))
    assert f"would replace {tmp_path / named}, which is read" in said
    assert path.read_text() == '{"text": "le chat"}\n'


@pytest.mark.parametrize("objective", ["masked", "masked+next"])
def test_fill_shows_pieces_with_their_probabilities(invoke, objective):
    result = invoke("fill", objective, "le <mask> rouge", "--top", "4")
    assert result.exit_code == 0, result.output
    assert result.stdout.count(" %") == 4
    answer = json.loads(invoke("fill", objective, "le <mask> <mask>", "--json").stdout)
    assert [len(blank) for blank in answer["blanks"]] == [5, 5]
    assert all(0 < one["probability"] < 1 for blank in answer["blanks"] for one in blank)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_embed_writes_a_vector_for_each_word_and_says_whose(invoke, texts, corpus, objective):
    out = corpus.parent / "vectors.npy"
    result = invoke("embed", objective, "--file", str(corpus), "--out", str(out))
    assert result.exit_code == 0, result.output
    vectors = np.load(out)
    owners = [json.loads(line) for line in out.with_suffix(".jsonl").read_text().splitlines()]
    words = [word for text in texts[:60] for word in text.split()]
    assert vectors.shape == (len(words), 32)
    assert [owner["characters"] for owner in owners] == words
    for row, owner in enumerate(owners):
        text = texts[owner["text"]]
        assert owner["row"] == row
        assert owner["line"] == owner["text"] + 1
        assert text[owner["begin"] : owner["end"]] == owner["characters"]
    assert np.isfinite(vectors).all()


@pytest.mark.parametrize("pooling", ["mean", "first", "last", None])
def test_embed_writes_a_vector_for_each_text(invoke, corpus, pooling):
    out = corpus.parent / "texts.npy"
    words = ["--file", str(corpus), "--what", "texts", "--out", str(out), "--json"]
    words += ["--pooling", pooling] if pooling else []
    result = invoke("embed", "masked", *words)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"vectors": str(out), "rows": 60, "width": 32}
    assert np.load(out).shape == (60, 32)


def test_embed_shows_the_uses_nearest_in_context(invoke, corpus):
    words = ["--file", str(corpus), "--neighbours", "Chat", "--count", "2"]
    shown = invoke("embed", "masked", *words)
    assert shown.exit_code == 0, shown.output
    assert "[chat]" in shown.stdout
    answer = json.loads(invoke("embed", "masked", *words, "--json").stdout)
    assert answer["num_uses"] == len(answer["uses"]) > 10
    for use in answer["uses"]:
        assert len(use["nearest"]) == 2
        assert use["nearest"][0]["cosine"] >= use["nearest"][1]["cosine"]


def test_bad_lines_are_complained_about_once(invoke, corpus):
    corpus.write_bytes(b"le chat\n\xff\xfe bad\nla ville\n")
    out = corpus.parent / "vectors.npy"
    words = ["embed", "masked", "--file", str(corpus), "--out", str(out)]
    assert "line 2" in sentence(invoke(*words))
    skipped = invoke(*words, "--skip-bad")
    assert skipped.exit_code == 0, skipped.output
    assert skipped.stderr.count("is not UTF-8") == 1
    assert np.load(out).shape == (4, 32)


def shown_commands() -> list[str]:
    page = Path(__file__).parents[2] / "docs" / "using-a-run.md"
    return [line.removeprefix("$ ") for line in page.read_text().splitlines() if line[:2] == "$ "]


@pytest.mark.parametrize("command", shown_commands())
def test_commands_shown_in_the_docs_work(runs, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("runs").symlink_to(runs["causal"].parent)
    Path("reviews.txt").write_text("un avocat plaide.\nun avocat dans la salade.\n")
    result = CliRunner().invoke(main, shlex.split(command)[1:])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("command", ["generate", "fill", "embed"])
def test_folder_without_a_run_is_named(command, tmp_path):
    more = {"generate": ["le"], "fill": ["<mask>"], "embed": ["--file", __file__, "--out", "v.npy"]}
    result = CliRunner().invoke(main, [command, str(tmp_path / "none"), *more[command]])
    assert "There is no run in" in sentence(result)


@pytest.mark.parametrize("objective", ["causal", "masked"])
def test_text_that_is_not_utf8_is_refused(invoke, objective):
    command = {"causal": "generate", "masked": "fill"}[objective]
    assert "is not UTF-8" in sentence(invoke(command, objective, "-", input=b"caf\xe9 <mask>"))
    assert "is not UTF-8" in sentence(invoke(command, objective, "caf\udce9 <mask>"))


def test_every_strategy_can_be_chosen():
    (choice,) = (
        option.type for option in main.commands["generate"].params if option.name == "strategy"
    )
    assert set(choice.choices) == set(STRATEGIES)
