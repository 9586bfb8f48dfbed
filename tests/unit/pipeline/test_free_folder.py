"""A run and a comparison are begun only where nothing else lies, and leave nothing if they fail."""

import pytest

from headstart.errors import RunError
from headstart.pipeline.free_folder import beginning, require_comparable, require_free


@pytest.mark.parametrize("name", [".lock", ".0123456789abcdef.part", ".DS_Store", "swap.json"])
def test_what_an_attempt_may_have_left_is_in_nobodys_way(tmp_path, name):
    (tmp_path / name).touch()
    require_free(tmp_path)
    require_free(tmp_path / "new")


@pytest.mark.parametrize("name", ["results.json", "weights.safetensors", "notes.txt", "leaks.json"])
def test_what_others_have_put_there_is_named(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(RunError, match=f"it holds {name}\\. Choose a folder that is new or empty"):
        require_free(tmp_path)


@pytest.mark.parametrize("name", ["results.json", "jobs", "tokenizer", "report.html"])
def test_a_comparison_takes_no_place_of_something_else(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(RunError, match=f"it holds {name}"):
        require_comparable(tmp_path)


def test_a_run_is_no_place_for_a_comparison(tmp_path):
    (tmp_path / "recipe.json").touch()
    (tmp_path / "leaks.json").touch()
    with pytest.raises(RunError, match="holds a run already"):
        require_comparable(tmp_path)


@pytest.mark.parametrize("name", ["leaks.json", "question.json"])
def test_a_comparison_is_gone_on_with_whatever_lies_beside_it(tmp_path, name):
    for other in (name, "results.json", "notes.txt"):
        (tmp_path / other).touch()
    require_comparable(tmp_path)


def test_a_comparison_that_has_its_texts_alone_is_gone_on_with(tmp_path):
    for name in ("examples", "text", "tiny", "adapted"):
        (tmp_path / name).mkdir()
    require_comparable(tmp_path)


def test_a_beginning_that_fails_takes_back_what_it_wrote_and_nothing_more(tmp_path):
    def fail():
        with beginning(tmp_path):
            (tmp_path / "tokenizer").mkdir()
            (tmp_path / "tokenizer" / "model.spm").touch()
            for name in ("swap.json", "thesis.txt"):
                (tmp_path / name).touch()
            raise ValueError("too little")

    (tmp_path / "start.json").write_text("of before")
    with pytest.raises(ValueError, match="too little"):
        fail()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["start.json", "thesis.txt"]
