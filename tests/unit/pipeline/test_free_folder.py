"""A run and a comparison are begun only where nothing else lies, and leave nothing if they fail."""

import pytest

from headstart.errors import RunError
from headstart.pipeline.free_folder import (
    BEGUN,
    LEAKS_FILE,
    QUESTION_FILE,
    beginning,
    claim_comparison,
    mark_as_there,
    require_free,
)


@pytest.mark.parametrize("name", [".lock", ".0123456789abcdef.part", ".DS_Store", "out.log"])
def test_what_nobody_misses_is_in_nobodys_way(tmp_path, name):
    (tmp_path / name).touch()
    require_free(tmp_path)
    require_free(tmp_path / "new")


@pytest.mark.parametrize("name", ["swap.json", "tokenizer", "examples.jsonl"])
def test_what_a_killed_attempt_has_left_is_known_from_what_others_own(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(RunError, match=f"it holds {name}"):
        require_free(tmp_path)
    (tmp_path / BEGUN).touch()
    require_free(tmp_path)


@pytest.mark.parametrize("name", ["results.json", "weights.safetensors", "notes.txt", "leaks.json"])
def test_what_others_have_put_there_is_named(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(RunError, match=f"it holds {name}\\. Choose a folder that is new or empty"):
        require_free(tmp_path)


@pytest.mark.parametrize("name", ["results.json", "jobs", "tokenizer", "report.html"])
def test_a_comparison_takes_no_place_of_something_else(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(RunError, match=f"it holds {name}"):
        claim_comparison(tmp_path, LEAKS_FILE)
    assert not (tmp_path / BEGUN).exists()


def test_a_run_is_no_place_for_a_comparison(tmp_path):
    (tmp_path / "recipe.json").touch()
    (tmp_path / "leaks.json").touch()
    with pytest.raises(RunError, match="holds a run already"):
        claim_comparison(tmp_path, LEAKS_FILE)


@pytest.mark.parametrize(
    ("own", "others"), [(LEAKS_FILE, QUESTION_FILE), (QUESTION_FILE, LEAKS_FILE)]
)
def test_a_comparison_is_gone_on_with_by_its_kind_whatever_lies_beside_it(tmp_path, own, others):
    for name in (own, "results.json", "notes.txt"):
        (tmp_path / name).touch()
    claim_comparison(tmp_path, own)
    with pytest.raises(RunError, match="in use for something else"):
        claim_comparison(tmp_path, others)


def test_a_comparison_that_has_its_texts_alone_is_gone_on_with(tmp_path):
    claim_comparison(tmp_path, LEAKS_FILE)
    for name in ("examples", "text", "tiny", "adapted"):
        (tmp_path / name).mkdir()
    claim_comparison(tmp_path, LEAKS_FILE)
    (tmp_path / BEGUN).unlink()
    with pytest.raises(RunError, match="it holds adapted"):
        claim_comparison(tmp_path, LEAKS_FILE)


def test_what_is_begun_is_marked_until_it_has_begun(tmp_path):
    with beginning(tmp_path):
        assert (tmp_path / BEGUN).exists()
        (tmp_path / "tokenizer").mkdir()
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer"]


def test_a_beginning_that_fails_takes_back_what_it_wrote_and_nothing_more(tmp_path):
    def fail():
        with beginning(tmp_path):
            (tmp_path / "tokenizer").mkdir()
            (tmp_path / "tokenizer" / "model.spm").touch()
            for name in ("swap.json", "thesis.txt"):
                (tmp_path / name).touch()
            raise ValueError("too little")

    (tmp_path / "start.json").write_text("of before")
    (tmp_path / BEGUN).touch()
    with pytest.raises(ValueError, match="too little"):
        fail()
    assert {path.name for path in tmp_path.iterdir()} == {BEGUN, "start.json", "thesis.txt"}


def test_a_folder_that_is_made_for_a_beginning_goes_with_it(tmp_path):
    with pytest.raises(ValueError, match="too little"), beginning(tmp_path / "new"):
        raise ValueError("too little")
    assert not (tmp_path / "new").exists()


def test_a_comparison_that_is_there_bears_no_mark(tmp_path):
    claim_comparison(tmp_path, LEAKS_FILE)
    assert (tmp_path / BEGUN).exists()
    (tmp_path / LEAKS_FILE).touch()
    mark_as_there(tmp_path)
    claim_comparison(tmp_path, LEAKS_FILE)
    assert [path.name for path in tmp_path.iterdir()] == [LEAKS_FILE]
