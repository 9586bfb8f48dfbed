"""Going on with other text: it must fit, what was read is remembered, the test is kept out."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from headstart.corpora.examples import Example
from headstart.corpora.leaks.sketch_file import read_sketch
from headstart.corpora.places import Place as Where
from headstart.errors import DataError, RecipeError
from headstart.files import read_sealed_json
from headstart.pipeline import adaptation, training_run
from headstart.pipeline.check import check_run
from headstart.pipeline.corpus_stores import CorpusConfig
from headstart.pipeline.planning import Budget, Place
from headstart.pipeline.pretrain import Pretraining, pretrain
from headstart.pipeline.recipe import with_objective
from headstart.pipeline.run_files import read_recipe
from headstart.tokenizers.folder import save_tokenizer


@pytest.fixture
def wish(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    monkeypatch.setattr(training_run, "write_curves", lambda _folder: None)
    save_tokenizer(toy.tokenizer, tmp_path / "tokenizer")

    def make(texts, **changes) -> Pretraining:
        path = tmp_path / f"corpus-{len(list(tmp_path.iterdir()))}.txt"
        path.write_text("\n".join(texts) + "\n")
        made = Pretraining(
            recipe=toy.recipe("masked"),
            corpus=CorpusConfig(corpus=(str(path),)),
            budget=Budget(num_steps=1),
            place=Place(device="cpu", num_threads=1),
            tokenizer=tmp_path / "tokenizer",
        )
        return replace(made, **changes)

    return make


@pytest.fixture
def first(wish, toy, tmp_path):
    pretrain(wish(toy.documents(200, seed=1)), tmp_path / "first")
    return tmp_path / "first"


def going_on(first, **changes):
    return {"recipe": replace(read_recipe(first), plan=None), "start": first} | changes


def read_share(texts, folder):
    examples = [Example(text, "a", Where(Path("test"), 1)) for text in texts]
    return check_run({"test": examples}, folder)[0].overall.share


def test_a_run_remembers_what_the_run_it_came_from_has_read(wish, first, toy, tmp_path):
    one, two, three = (toy.documents(200, seed=seed) for seed in (1, 2, 3))
    pretrain(wish(two, **going_on(first)), tmp_path / "second")
    second = tmp_path / "second"
    pretrain(wish(three, **going_on(second)), tmp_path / "third")
    assert read_share(two, first) < 0.3
    # A tenth of so small a corpus is held out, and not learned from.
    assert read_share(one, second) == pytest.approx(read_share(one, first), abs=0.02)
    assert read_share(one, second) > 0.8
    for texts in (one, two, three):
        assert read_share(texts, tmp_path / "third") > 0.8
    assert read_share(toy.documents(200, seed=9), tmp_path / "third") < 0.4
    seen = read_sketch(tmp_path / "third" / "corpus.sketch").num_ngrams_seen
    assert seen > read_sketch(second / "corpus.sketch").num_ngrams_seen


def test_a_run_remembers_where_it_came_from(wish, first, toy, tmp_path):
    pretrain(wish(toy.documents(200), **going_on(first)), tmp_path / "second")
    assert read_sealed_json(tmp_path / "second" / "start.json")["from"] == str(first)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda recipe: replace(
                recipe, model=replace(recipe.model, trunk=replace(recipe.model.trunk, num_layers=3))
            ),
            r"the trunk's num_layers is 3 and not 2",
        ),
        (lambda recipe: with_objective(recipe, "masked+next"), "of the recipe compact: the "),
    ],
)
def test_a_recipe_that_does_not_fit_the_run_is_told_in_what(wish, first, toy, change, told):
    recipe = change(replace(read_recipe(first), plan=None))
    folder = first.with_name("second")
    with pytest.raises(RecipeError, match=told):
        pretrain(wish(toy.documents(200), **going_on(first, recipe=recipe)), folder)
    assert not (folder / "recipe.json").exists()


def test_other_dropout_fits(wish, first, toy, tmp_path):
    recipe = replace(read_recipe(first), plan=None)
    trunk = recipe.model.trunk
    trunk = replace(trunk, layer=replace(trunk.layer, dropout=0.1))
    recipe = replace(recipe, model=replace(recipe.model, trunk=trunk))
    pretrain(wish(toy.documents(200), **going_on(first, recipe=recipe)), tmp_path / "second")


def test_texts_of_a_test_are_found_in_the_corpus_whatever_their_case_and_signs(wish, toy, tmp_path):
    texts = toy.documents(200, seed=1, sentences=(3, 5))
    test = tmp_path / "test.csv"
    rows = [f'"  {texts[7].upper()}!",yes', '"new to all of them",no', f'"{texts[90]}",no']
    test.write_text("\n".join(["text,label", *rows]) + "\n")
    with pytest.raises(DataError, match=r"holds 2 texts .*test\.csv, line 2, is .*txt, line 8;"):
        pretrain(wish(texts, kept_out=(str(test),)), tmp_path / "run")
    assert not (tmp_path / "run" / "recipe.json").exists()
    clean = [text for number, text in enumerate(texts) if number not in {7, 90}]
    pretrain(wish(clean, kept_out=(str(test),)), tmp_path / "run")


@pytest.mark.parametrize("documents", ["paragraphs", "files"])
def test_a_test_has_a_text_a_line_whatever_the_documents_of_the_corpus_are(
    wish, toy, tmp_path, documents
):
    texts = toy.documents(60, sentences=(3, 5))
    # The second is a paragraph as well, and counts once.
    (tmp_path / "test.txt").write_text(f"{texts[7]}\na line that nobody has read\n\n{texts[9]}\n")
    (tmp_path / "test.label").write_text("yes\nno\nno\n")
    made = wish(texts, kept_out=(f"{tmp_path / 'test.txt'},{tmp_path / 'test.label'}",))
    folder = tmp_path / "corpus"
    folder.mkdir()
    if documents == "files":
        for number, text in enumerate(texts):
            (folder / f"{number:02}.txt").write_text(text)
    else:
        (folder / "all.txt").write_text("\n\n".join(texts))
    names = tuple(map(str, sorted(folder.iterdir())))
    corpus = replace(made.corpus, corpus=names, documents=documents)
    with pytest.raises(DataError, match="holds 2 texts"):
        pretrain(replace(made, corpus=corpus), tmp_path / "run")


def test_text_that_was_held_against_a_test_is_held_again_only_against_another(
    wish, toy, tmp_path, monkeypatch
):
    test = tmp_path / "test.txt"
    test.write_text("a text that nobody has read\n")
    made = wish(toy.documents(50), kept_out=(str(test),))
    pretrain(made, tmp_path / "first")
    monkeypatch.setattr(adaptation, "CorpusCopyFinder", lambda _texts: pytest.fail("held again"))
    pretrain(made, tmp_path / "second")
    test.write_text("another text that nobody has read\n")
    with pytest.raises(pytest.fail.Exception, match="held again"):
        pretrain(made, tmp_path / "third")


def test_the_same_bytes_under_another_ending_are_another_text(wish, toy, tmp_path):
    texts = toy.documents(50, sentences=(3, 5))
    pieces = [" ".join(f"▁{word[:1]} {word[1:]}" for word in text.split()) for text in texts]
    test = tmp_path / "test.txt"
    test.write_text(f"{texts[7]}\n")
    made = wish(pieces, kept_out=(str(test),))
    pretrain(made, tmp_path / "first")
    (text,) = map(Path, made.corpus.corpus)
    renamed = replace(made.corpus, corpus=(str(text.rename(text.with_suffix(".spm"))),))
    with pytest.raises(DataError, match="holds 1 text"):
        pretrain(replace(made, corpus=renamed), tmp_path / "second")


def test_text_that_holds_a_test_is_refused_as_often_as_it_is_tried(wish, toy, tmp_path):
    texts = toy.documents(50, sentences=(3, 5))
    test = tmp_path / "test.txt"
    test.write_text(f"{texts[7]}\n")
    made = wish(texts, kept_out=(str(test),))
    for _ in range(2):
        with pytest.raises(DataError, match="holds 1 text"):
            pretrain(made, tmp_path / "run")


def test_held_out_text_must_not_be_the_tests_either(wish, toy, tmp_path):
    texts, other = toy.documents(200, seed=1), toy.documents(30, seed=2, sentences=(4, 6))
    valid, test, labels = (tmp_path / name for name in ("valid.txt", "test.txt", "labels.txt"))
    valid.write_text("\n".join(other) + "\n")
    test.write_text(f"{other[3]}\nquite another text\n")
    labels.write_text("one\ntwo\n")
    made = wish(texts)
    made = replace(made, corpus=replace(made.corpus, valid=(str(valid),)))
    with pytest.raises(DataError, match=r"holds 1 text .*valid\.txt, line 4"):
        pretrain(replace(made, kept_out=(f"{test},{labels}",)), tmp_path / "run")


def test_a_kept_out_file_that_is_not_there_is_told(wish, toy, tmp_path):
    with pytest.raises(DataError, match="nowhere"):
        pretrain(wish(toy.documents(50), kept_out=("nowhere.csv",)), tmp_path / "run")
