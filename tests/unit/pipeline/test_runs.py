"""The list of runs tells what there is, also while it changes, and removes only what it should."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from headstart.checkpoints.names import checkpoint_path
from headstart.errors import LockedError, RunError
from headstart.files import write_json
from headstart.locks import locked
from headstart.models.heads.config import LabelHeadConfig
from headstart.pipeline.planning import Budget, Place, first_plan
from headstart.pipeline.run_files import read_recipe, write_recipe
from headstart.pipeline.runs import find_runs, remove_run, summary
from headstart.transfers.config import TransferConfig


@pytest.fixture
def new_run(toy, tmp_path):
    def make(name: str, *steps: int) -> Path:
        folder = tmp_path / "runs" / name
        recipe = toy.recipe("causal")
        plan = first_plan(Budget(num_steps=50), Place(device="cpu", num_threads=1), recipe)
        write_recipe(folder, replace(recipe, plan=plan))
        for step in steps:
            checkpoint_path(folder / "checkpoints", step).mkdir(parents=True)
        return folder

    return make


def finish(folder: Path, bits: float) -> None:
    write_json(folder / "results.json", {"held_out": {"bits_per_byte": bits}})
    write_json(folder / "manifest.json", {})


def test_runs_are_found_a_few_levels_down_in_the_order_of_their_names(new_run, tmp_path):
    for name in ("b", "a/deep/er", "a"):
        new_run(name)
    top = tmp_path / "runs"
    names = [run.folder.relative_to(top).as_posix() for run in find_runs(top)]
    assert names == ["a", "a/deep/er", "b"]
    assert list(find_runs(tmp_path / "nowhere")) == []


def test_a_folder_that_is_itself_a_run_is_listed(new_run):
    folder = new_run("a")
    assert [run.folder for run in find_runs(folder)] == [folder]


def test_states_are_told_apart(new_run):
    stopped, finished, running, damaged = (new_run(name) for name in "abcd")
    finish(finished, 1.5)
    (damaged / "recipe.json").write_text("{")
    with locked(running):
        seen = {run.folder: run for run in find_runs(stopped.parent)}
    assert [seen[path].state for path in (stopped, finished, running, damaged)] == [
        "stopped",
        "finished",
        "running",
        "damaged",
    ]
    assert seen[finished].bits_per_byte == 1.5
    assert seen[finished].step == seen[finished].num_steps == 50
    assert seen[stopped].bits_per_byte is None


@pytest.mark.parametrize("spoiled", ["results.json", "recipe.json"])
@pytest.mark.parametrize("content", ["", "[]", "{}", '{"held_out": 3}'])
def test_a_file_that_says_nothing_makes_a_run_damaged_and_not_the_list(new_run, spoiled, content):
    folder = new_run("a")
    finish(folder, 1.5)
    (folder / spoiled).write_text(content)
    assert summary(folder).state == "damaged"


def as_classifier(folder: Path, **changes) -> None:
    recipe = read_recipe(folder)
    head = LabelHeadConfig(num_labels=2, pooling="mean")
    write_recipe(
        folder,
        replace(
            recipe,
            model=replace(recipe.model, head=head),
            transfer=TransferConfig(labels=("bad", "good")),
        ),
    )
    write_json(folder / "results.json", {"steps": 40, "valid": {"accuracy": 0.75}} | changes)


def test_a_classifier_is_listed_with_its_accuracy_and_the_steps_that_it_took(new_run):
    folder = new_run("a")
    as_classifier(folder)
    assert (summary(folder).state, summary(folder).accuracy) == ("stopped", None)
    write_json(folder / "manifest.json", {})
    seen = summary(folder)
    assert (seen.state, seen.accuracy, seen.bits_per_byte) == ("finished", 0.75, None)
    # It had enough before its plan ended.
    assert (seen.step, seen.num_steps) == (40, 50)
    as_classifier(folder, valid=3)
    assert summary(folder).state == "damaged"


def test_a_stopped_run_is_as_far_as_its_last_checkpoint(new_run):
    assert summary(new_run("a", 10, 30, 20)).step == 30
    assert summary(new_run("b")).step == 0


def test_the_size_is_that_of_all_files(new_run):
    folder = new_run("a")
    before = summary(folder).num_bytes
    (folder / "checkpoints" / "more").mkdir(parents=True)
    (folder / "checkpoints" / "more" / "weights").write_bytes(bytes(1_234))
    assert summary(folder).num_bytes == before + 1_234


def test_files_that_vanish_while_they_are_counted_do_not_matter(new_run, monkeypatch):
    folder = new_run("a")
    before = summary(folder).num_bytes
    (folder / "gone").write_bytes(bytes(10))
    walk = os.walk

    def vanishing(top, **options):
        for found in walk(top, **options):
            (folder / "gone").unlink(missing_ok=True)
            yield found

    monkeypatch.setattr(os, "walk", vanishing)
    assert summary(folder).num_bytes == before


def test_a_run_is_removed_also_where_it_is_damaged(new_run):
    sound, damaged = new_run("a"), new_run("b")
    (damaged / "recipe.json").write_text("{")
    for folder in (sound, damaged):
        remove_run(folder)
        assert not folder.exists()


def test_what_is_no_run_is_left_alone(tmp_path):
    (tmp_path / "photos").mkdir()
    with pytest.raises(RunError, match="no run"):
        remove_run(tmp_path / "photos")
    assert (tmp_path / "photos").is_dir()


def test_a_run_beside_which_something_else_lies_is_left_alone(new_run):
    folder = new_run("a")
    (folder / "thesis.txt").touch()
    with pytest.raises(RunError, match=r"thesis\.txt is not the run's own.*Move it out of"):
        remove_run(folder)
    (folder / "thesis.txt").unlink()
    (folder / ".lock").touch()
    remove_run(folder)
    assert not folder.exists()


def test_a_running_run_is_left_alone(new_run):
    folder = new_run("a")
    with locked(folder), pytest.raises(LockedError, match="is running"):
        remove_run(folder)
    assert (folder / "recipe.json").exists()
