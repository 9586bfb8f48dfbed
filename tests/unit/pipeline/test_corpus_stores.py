"""A corpus in two parts that have nothing in common, kept by its content."""

import shutil
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from headstart.batches.store import TokenStore
from headstart.corpora.leaks.sketch_file import read_sketch
from headstart.errors import DataError
from headstart.pipeline.corpus_stores import (
    CorpusConfig,
    CorpusStores,
    corpus_stores,
    whole_store,
)
from headstart.pipeline.skipped_rows import SKIPPED_FILE
from headstart.pipeline.watch import Watch, read_quietly
from headstart.tokenizers.pieces import END_ID


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "stores"


@pytest.fixture
def corpus(toy, tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(toy.documents(300)) + "\n")
    return path


def stores_of(toy, *paths, watch=None, **reading):
    config = CorpusConfig(corpus=tuple(map(str, paths)), **reading)
    return corpus_stores(config, toy.tokenizer, 1, watch or Watch())


def num_documents(stores: CorpusStores) -> int:
    return sum(len(store.document_starts) - 1 for store in (stores.train, stores.held_out))


def documents_in(toy, store: TokenStore) -> list[str]:
    tokens = store.tokens(0, store.num_tokens)
    return [
        toy.tokenizer.decode(row[row != END_ID])
        for row in np.split(tokens, store.document_starts[1:-1])
    ]


def test_every_document_is_learned_from_or_held_out_and_none_is_both(toy, corpus):
    stores = stores_of(toy, corpus)
    train, held_out = (documents_in(toy, store) for store in (stores.train, stores.held_out))
    assert not set(train) & set(held_out)
    assert sorted(train + held_out) == sorted(corpus.read_text().splitlines())
    # A tenth of a small corpus, give or take what chance does to 300 documents.
    assert 5 < len(held_out) < 60


def test_copies_of_a_document_stay_together(toy, corpus, tmp_path):
    other = tmp_path / "copies.txt"
    other.write_text(corpus.read_text() + corpus.read_text())
    stores = stores_of(toy, corpus, other)
    train, held_out = (documents_in(toy, store) for store in (stores.train, stores.held_out))
    assert not set(train) & set(held_out)
    assert all(held_out.count(text) % 3 == 0 for text in held_out)


def test_the_order_of_documents_is_kept(toy, corpus):
    stores = stores_of(toy, corpus)
    train = documents_in(toy, stores.train)
    assert train == [text for text in corpus.read_text().splitlines() if text in set(train)]


def test_valid_text_is_held_out_and_all_of_the_corpus_learned_from(toy, corpus, tmp_path):
    valid = tmp_path / "valid.txt"
    valid.write_text("\n".join(toy.documents(20, seed=77)) + "\n")
    stores = stores_of(toy, corpus, valid=(str(valid),))
    assert documents_in(toy, stores.train) == corpus.read_text().splitlines()
    assert documents_in(toy, stores.held_out) == valid.read_text().splitlines()


@pytest.mark.parametrize("comes_first", ["with valid text", "without"])
def test_what_was_encoded_with_valid_text_is_not_taken_for_what_holds_some_out(
    toy, corpus, tmp_path, comes_first
):
    valid = tmp_path / "valid.txt"
    valid.write_text("\n".join(toy.documents(20, seed=77)) + "\n")
    orders = {"with valid text": (True, False), "without": (False, True)}
    for has_valid in orders[comes_first]:
        stores = stores_of(toy, corpus, valid=(str(valid),) if has_valid else ())
        train, held_out = (documents_in(toy, store) for store in (stores.train, stores.held_out))
        assert not set(train) & set(held_out)
        assert len(train) == 300 - (0 if has_valid else len(held_out))


def refusing() -> Watch:
    def read(_paths, _reading, what) -> Iterator[object]:
        raise AssertionError(f"{what}: it was encoded again")

    return Watch(read=read)


def test_what_was_encoded_before_is_not_read_again(toy, corpus):
    first = stores_of(toy, corpus)
    again = stores_of(toy, corpus, watch=refusing())
    assert first.train.folder == again.train.folder


def test_the_same_text_at_another_path_is_the_same_store(toy, corpus, tmp_path):
    first = stores_of(toy, corpus)
    moved = tmp_path / "elsewhere" / "other.txt"
    moved.parent.mkdir()
    shutil.copyfile(corpus, moved)
    again = stores_of(toy, moved, watch=refusing())
    assert first.train.folder == again.train.folder
    assert first.held_out.folder == again.held_out.folder


def test_rows_that_are_skipped_are_told_once_in_every_run_where_they_lie_now(toy, corpus, tmp_path):
    other = tmp_path / "other.txt"
    other.write_bytes(b"good\n\xff\n" + b"a\0b\n" * 5)
    moved = tmp_path / "moved.txt"
    shutil.copyfile(other, moved)
    for watch, path in ((Watch(), other), (refusing(), other), (refusing(), moved)):
        said = []
        watch = replace(watch, say=said.append)
        stores_of(toy, corpus, path, watch=watch, skips_bad=True)
        assert said == [
            "Skipped 5 rows: there is a NUL byte, which no text has "
            f"(first: {path}, line 3; {path}, line 4; {path}, line 5)",
            f"Skipped 1 row: byte 1 (0xff) is not UTF-8 (first: {path}, line 2)",
        ]


def test_a_store_of_before_that_notes_no_skipped_rows_is_taken(toy, corpus):
    (stores_of(toy, corpus).train.folder / SKIPPED_FILE).unlink()
    stores_of(toy, corpus, watch=refusing())


def test_the_same_bytes_read_as_a_table_are_another_store(toy, corpus, tmp_path):
    corpus.write_text("text\n" + corpus.read_text())
    table = tmp_path / "corpus.csv"
    shutil.copyfile(corpus, table)
    as_text, as_table = stores_of(toy, corpus), stores_of(toy, table)
    assert as_text.sources[str(corpus)] == as_table.sources[str(table)]
    assert num_documents(as_text) == 301
    assert num_documents(as_table) == 300


def test_the_sources_of_a_run_are_its_own_paths_whoever_encoded_them(toy, corpus, tmp_path):
    first = stores_of(toy, corpus)
    moved = tmp_path / "other.txt"
    shutil.copyfile(corpus, moved)
    again = stores_of(toy, moved)
    assert list(first.sources) == [str(corpus)]
    assert list(again.sources) == [str(moved)]
    assert first.sources[str(corpus)] == again.sources[str(moved)]


def test_an_interrupted_encoding_is_gone_on_with_from_another_path(toy, corpus, tmp_path):
    def interrupted(paths, reading, what):
        for number, document in enumerate(read_quietly(paths, reading, what)):
            if number == 50:
                raise KeyboardInterrupt
            yield document

    with pytest.raises(KeyboardInterrupt):
        stores_of(toy, corpus, watch=Watch(read=interrupted))
    moved = tmp_path / "other.txt"
    shutil.copyfile(corpus, moved)
    assert num_documents(stores_of(toy, moved)) == 300


def test_a_store_whose_sketch_a_kill_prevented_gets_the_sketch_it_would_have_had(toy, corpus):
    sketch = stores_of(toy, corpus).sketch
    data = sketch.read_bytes()
    sketch.unlink()
    assert stores_of(toy, corpus).sketch.read_bytes() == data
    assert len(read_sketch(sketch).hashes) > 0


@pytest.mark.parametrize("change", ["text", "tokenizer", "documents"])
def test_anything_else_is_another_store(toy, corpus, change):
    first = stores_of(toy, corpus)
    reading = {}
    if change == "text":
        corpus.write_text(corpus.read_text() + "One more.\n")
    elif change == "tokenizer":
        toy = type(toy)(toy.tokenizer.with_pieces(["<more>"]), toy.folder)
    else:
        corpus.write_text(corpus.read_text())
        reading = {"documents": "paragraphs", "valid": (str(corpus),)}
    again = stores_of(toy, corpus, **reading)
    assert first.train.folder != again.train.folder


def test_a_corpus_of_which_nothing_is_left_to_hold_out_is_answered_in_a_sentence(toy, tmp_path):
    path = tmp_path / "short.txt"
    path.write_text(toy.documents(1)[0] + "\n")
    with pytest.raises(DataError, match=r"Nothing of the text was left for .*--valid"):
        stores_of(toy, path)


def test_a_text_to_be_scored_on_is_taken_whole(toy, corpus):
    config = CorpusConfig(corpus=(str(corpus),))
    store = whole_store(config, toy.tokenizer, 1, Watch())
    assert documents_in(toy, store) == corpus.read_text().splitlines()
    assert store.num_bytes == sum(map(len, corpus.read_text().splitlines()))
