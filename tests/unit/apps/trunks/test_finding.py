"""A run is found by its folder or by its name in the box, wherever a run is named."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import headstart
from headstart.apps import trunks
from headstart.apps.cli.main import main
from headstart.apps.recipes import finding as recipe_finding
from headstart.apps.trunks import finding
from headstart.apps.trunks.finding import find_run
from headstart.errors import RecipeError, RunError


@pytest.fixture
def box(tmp_path, monkeypatch):
    """A box with one trunk, and an empty working directory."""
    folder = tmp_path / "box" / "tiny-en"
    folder.mkdir(parents=True)
    for module in (trunks, finding, recipe_finding):
        monkeypatch.setattr(module, "TRUNKS", {"tiny-en": folder})
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return folder


def test_a_name_in_the_box_is_its_folder_there(box):
    assert find_run("tiny-en") == box


def test_a_folder_that_is_there_wins_over_the_box(box):
    Path("tiny-en").mkdir()
    assert find_run("tiny-en") == Path("tiny-en")
    assert find_run(Path("tiny-en")) == Path("tiny-en")


@pytest.mark.parametrize("name", ["tiny_en", "Tiny-EN", "tiny-e"])
def test_a_name_near_one_in_the_box_is_offered(box, name):
    with pytest.raises(RunError, match=r"Did you mean 'tiny-en'\? .*in the box \(tiny-en\)"):
        find_run(name)


@pytest.mark.parametrize("name", ["runs/none", "", "file.txt"])
def test_what_is_no_run_is_told_with_what_could_be_named(box, name):
    Path("file.txt").write_text("text")
    with pytest.raises(RunError, match=r"There is no run in .* headstart pretrain"):
        find_run(name)


COMMANDS = [
    ["embed", "tyny-en", "--file", "x.txt", "--out", "v.npy"],
    ["fill", "tyny-en", "a <mask>"],
    ["generate", "tyny-en", "a"],
    ["evaluate", "tyny-en", "--test", "x.txt"],
    ["pretrain", "x.txt", "--from", "tyny-en", "--out", "run"],
    ["check", "--train", "x.csv", "--from", "tyny-en"],
    ["runs", "pack", "tyny-en", "--out", "small"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_every_command_that_names_a_run_looks_into_the_box(box, words):
    """The folder there is no run, and that is what each command then says of it."""
    Path("x.txt").write_text("a text\n")
    Path("x.csv").write_text("text,label\na text,one\n")
    wrong = CliRunner().invoke(main, words)
    assert "Did you mean 'tiny-en'?" in wrong.output
    right = CliRunner().invoke(main, ["tiny-en" if word == "tyny-en" else word for word in words])
    assert right.exit_code == 2
    assert str(box) in right.output.replace("\n", " ")
    assert "Did you mean" not in right.output


def test_the_recipe_of_a_trunk_in_the_box_is_found_by_its_name(box):
    with pytest.raises(RunError, match="tiny-en: it has no recipe"):
        headstart.find_recipe("tiny-en")
    with pytest.raises(RecipeError, match=r"Did you mean 'tiny-en'\?.*in the box \(tiny-en\)"):
        headstart.find_recipe("tyny-en")


def test_a_trunk_in_the_box_is_loaded_by_its_name(box):
    with pytest.raises(RunError, match="tiny-en: it has no recipe"):
        headstart.load("tiny-en")
