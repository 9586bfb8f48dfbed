"""Making a tokenizer: a sample of the text, a folder that keeps it, and a first try of it."""

from functools import partial
from pathlib import Path

import pytest

from headstart.corpora.documents import Document
from headstart.corpora.places import Place
from headstart.pipeline import tokenizer as pipeline
from headstart.pipeline.tokenizer import bring_tokenizer, make_tokenizer, sample_lines
from headstart.tokenizers.folder import load_tokenizer
from headstart.tokenizers.learning import TokenizerConfig
from headstart.tokenizers.sampling import sample

TEXTS = [f"the {number} green lines of text number {number % 7}" for number in range(300)]
CONFIG = TokenizerConfig(size=300)


def documents(texts, *, is_cut=False):
    return [Document(text, Place(Path("a"), line), is_cut) for line, text in enumerate(texts)]


def test_all_lines_are_kept_where_they_are_few():
    assert sample_lines(documents(["a\nb", "", "c"]), seed=0) == ["a", "b", "c"]


def test_lines_of_a_large_corpus_are_sampled_by_the_seed(monkeypatch):
    monkeypatch.setattr(pipeline, "sample", partial(sample, most=50))
    first, again, other = (sample_lines(documents(TEXTS), seed) for seed in (1, 1, 2))
    assert first == again != other
    assert len(set(first)) == 50
    assert set(first) <= set(TEXTS)


def test_text_already_cut_is_learned_as_people_write_it():
    cut = documents(["\u2581l ' \u2581\u00e9t \u00e9"], is_cut=True)
    assert sample_lines(cut, seed=0) == ["l' \u00e9t\u00e9"]


def test_a_learned_tokenizer_is_kept_and_tried(tmp_path):
    made, seen = make_tokenizer(TEXTS, CONFIG, tmp_path)
    assert load_tokenizer(tmp_path).fingerprint == made.fingerprint
    assert (seen.num_texts, seen.num_changed_texts) == (300, 0)


@pytest.mark.parametrize("num_texts", [0, 1, 1_500])
def test_an_imported_tokenizer_is_kept_and_tried_on_the_first_texts(tmp_path, num_texts):
    made, _ = make_tokenizer(TEXTS, CONFIG, tmp_path / "own")
    rows = "".join(f"{piece} 1\n" for piece in made.vocabulary[4:])
    (tmp_path / "dict.txt").write_text(rows, encoding="utf-8")
    stream = iter(documents(["\u2014 green"] * num_texts))
    arguments = (tmp_path / "own" / "model.spm", tmp_path / "dict.txt", stream, tmp_path / "new")
    brought, seen = bring_tokenizer(*arguments)
    assert load_tokenizer(tmp_path / "new").vocabulary == made.vocabulary == brought.vocabulary
    assert seen.num_texts == seen.num_changed_texts == min(num_texts, 1_000)
