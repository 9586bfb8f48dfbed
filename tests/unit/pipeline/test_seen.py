"""What a run has seen: fingerprints, not texts, and a test that is cleaned by them."""

from pathlib import Path

import pytest

from headstart.corpora.examples import Example
from headstart.corpora.leaks import SKETCH_FILE
from headstart.corpora.leaks.normalisation import words
from headstart.corpora.leaks.sketch import Sketcher
from headstart.corpora.leaks.sketch_file import write_sketch
from headstart.corpora.places import Place
from headstart.errors import DamagedFileError, FileError
from headstart.pipeline.check import check
from headstart.pipeline.seen import clean_items, read_seen, write_seen


def examples(*texts):
    return [Example(text, "a", Place(Path("f.csv"), n)) for n, text in enumerate(texts, start=2)]


LONG = " ".join(f"word{number % 97} of{number % 13} tale{number}" for number in range(400))


def test_copies_are_found_in_any_case_and_punctuation(tmp_path):
    write_seen(tmp_path, examples("A fine film.", "So, so dull", "Twice", "twice!"))
    test = examples(
        "a FINE film", "so so dull...", "A fine film indeed.", "Something else", "TWICE"
    )
    assert clean_items(tmp_path, test) == [False, False, True, True, False]
    assert len(read_seen(tmp_path)) == 3


def test_texts_without_a_word_are_no_copies_of_each_other(tmp_path):
    write_seen(tmp_path, examples("!!!", "a film"))
    assert clean_items(tmp_path, examples("???", "!!!", "a film")) == [True, True, False]


def test_the_texts_themselves_are_not_kept(tmp_path):
    write_seen(tmp_path, examples("A secret opinion"))
    data = (tmp_path / "examples.seen").read_bytes()
    assert len(data) == 16
    assert b"secret" not in data


def test_what_the_trunk_has_read_is_not_clean_where_its_sketch_tells(tmp_path):
    write_seen(tmp_path, examples("A fine film."))
    test = examples("Something else", LONG.upper(), "a fine film")
    assert clean_items(tmp_path, test) == [True, True, False]
    sketcher = Sketcher()
    sketcher.see(words(LONG))
    write_sketch(tmp_path / SKETCH_FILE, sketcher.sketch())
    assert clean_items(tmp_path, test) == [True, False, False]


def test_the_clean_test_is_the_one_that_the_leak_guard_finds(tmp_path):
    train = examples(*(f"the film number {n} was dull" for n in range(20)))
    valid = examples(*(f"a story of {n} men" for n in range(10)))
    test = examples(
        *(f"an old way to {n} houses" for n in range(10)),
        *(f"The film, number {n}, WAS dull!" for n in range(5)),
        *(f"A story of {n} men." for n in range(5)),
        "an old way to 3 houses",
    )
    write_seen(tmp_path, [*train, *valid])
    found = check({"train": train, "valid": valid, "test": test}, None).cleaned["test"].clean
    is_clean = clean_items(tmp_path, test)
    assert [index for index, clean in enumerate(is_clean) if clean] == list(found)
    assert len(found) == 11


def test_a_file_that_is_cut_or_gone_is_named(tmp_path):
    with pytest.raises(FileError, match=r"Cannot read .*examples\.seen"):
        read_seen(tmp_path)
    write_seen(tmp_path, examples("A fine film."))
    path = tmp_path / "examples.seen"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DamagedFileError, match="has 15 bytes"):
        read_seen(tmp_path)
