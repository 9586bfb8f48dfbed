"""A transfer is as safe as any run: begun twice, stopped anywhere, ended early, or changed."""

import json
import random
import shutil
import signal
import sys
import time
from dataclasses import replace

import pytest
from lives import Life, resume_life, transfer_life
from tiny_runs import (
    NUM_STEPS,
    SAVE_EVERY,
    TRANSFERS,
    Killed,
    Witness,
    assert_same_run,
    checkpoints_of,
    content,
    count,
    go_on,
    last_checkpoint,
    names_beside,
)
from tiny_transfers import begun_transfer, examples_in, planted, settings, write_rows

from headstart.checkpoints.checkpoint import load_checkpoint
from headstart.errors import RunError
from headstart.files import PART
from headstart.pipeline.run_files import RECIPE_FILE, is_finished, read_recipe, read_results
from headstart.pipeline.run_folder import load_run

NUM_STOPS = count(2, 30)
NUM_KILLS_AT_THE_BEGINNING = count(2, 30)
BEGIN_SECONDS = 0.1


def interrupt(folder, steps: list[int], *, is_killed: bool) -> None:
    """Goes on with a run and has it stopped, or killed, after each of some steps."""
    for step in steps:
        if is_killed:
            with pytest.raises(Killed):
                go_on(folder, Witness(die_at=step))
        else:
            assert not go_on(folder, Witness(stop_at=step))


@pytest.mark.parametrize("kind", TRANSFERS)
@pytest.mark.parametrize("number", range(NUM_STOPS))
def test_a_transfer_that_was_interrupted_anywhere_is_the_one_that_was_not(
    world, kind, number, tmp_path, no_flushing
):
    draw = random.Random(f"{kind} {number}")
    folder = world.fresh(kind, tmp_path / "run")
    # Once at an epoch's end, where the best weights have just changed, and else anywhere.
    steps = sorted({*draw.sample(range(1, NUM_STEPS), 2), 6 * draw.randint(1, 4)})
    interrupt(folder, steps, is_killed=number % 2 == 1)
    assert go_on(folder)
    assert_same_run(content(folder), world.undisturbed(kind))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_transfer_that_is_killed_while_it_begins_is_begun_again_and_ends_as_any_other(
    world, tmp_path
):
    draw = random.Random(3)
    for number in range(NUM_KILLS_AT_THE_BEGINNING):
        folder, kind = tmp_path / str(number), TRANSFERS[number % len(TRANSFERS)]
        life = Life(transfer_life, folder, world.folder, kind)
        life.wait_for("begins")
        time.sleep(draw.uniform(0, BEGIN_SECONDS))
        life.send(signal.SIGKILL)
        assert life.end() == -signal.SIGKILL
        has_begun = (folder / RECIPE_FILE).exists()
        again = (
            Life(resume_life, folder, world.cache, SAVE_EVERY)
            if has_begun
            else Life(transfer_life, folder, world.folder, kind)
        )
        assert again.end() == 0
        assert_same_run(content(folder), world.undisturbed(kind))
        assert not names_beside(folder, lambda path: path.name.endswith(PART))


@pytest.fixture(scope="module")
def impatient(world, tmp_path_factory):
    """A transfer that has enough long before its plan ends, begun and finished undisturbed."""
    home = tmp_path_factory.mktemp("impatient")
    how = settings("full", epochs=40, patience=2, num_averaged=2, peak_rate=3e-2)
    begun = begun_transfer(
        home / "begun", world.folder / "trunk", examples_in(world.folder / "examples"), how
    )
    finished = shutil.copytree(begun, home / "finished")
    assert go_on(finished)
    return begun, finished


def test_a_transfer_that_has_enough_is_finished_and_a_resumption_changes_nothing(impatient):
    _, finished = impatient
    results = read_results(finished)
    num_planned = read_recipe(finished).plan.num_steps
    assert results["steps"] == results["best_step"] + 2 * 6 < num_planned
    before = {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}
    witness = Witness()
    assert go_on(finished, witness)
    assert witness.steps == witness.said == []
    after = {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}
    assert {path.name for path in after if after[path] != before.get(path)} <= {".lock"}


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_transfer_that_was_interrupted_has_enough_at_the_same_step(
    impatient, is_killed, tmp_path, no_flushing
):
    begun, finished = impatient
    folder = shutil.copytree(begun, tmp_path / "run")
    end = read_results(finished)["steps"]
    interrupt(folder, [end // 2, end - 6, end - 1], is_killed=is_killed)
    assert go_on(folder)
    assert_same_run(content(folder), content(finished))


def test_a_transfer_that_is_stopped_the_moment_it_has_enough_is_finished_by_going_on(
    impatient, tmp_path, no_flushing
):
    begun, finished = impatient
    folder = shutil.copytree(begun, tmp_path / "run")
    end = read_results(finished)["steps"]
    # Asked to stop in its last step: what it is worth is not worked out any more.
    assert not go_on(folder, Witness(stop_at=end))
    assert not is_finished(folder)
    again = Witness()
    assert go_on(folder, again)
    assert again.steps == []
    assert_same_run(content(folder), content(finished))


def test_a_checkpoint_holds_the_best_epochs_so_far(world, tmp_path, no_flushing):
    folder = world.fresh("full", tmp_path / "run")
    interrupt(folder, [2 * 6 + 1], is_killed=False)
    groups = load_checkpoint(last_checkpoint(folder)).groups
    assert {name for name in groups if name.startswith("best")} == {"best", "best-2"}
    # A run that is not finished can be used: its best weights so far.
    weights = load_run(folder, "cpu").model.state_dict()
    assert all((weights[name] == tensor).all() for name, tensor in groups["best"].items())


@pytest.mark.parametrize("kind", TRANSFERS)
def test_another_recipe_is_refused_and_nothing_is_changed(world, kind, tmp_path, no_flushing):
    folder = world.fresh(kind, tmp_path / "run")
    interrupt(folder, [SAVE_EVERY], is_killed=False)
    path = folder / RECIPE_FILE
    whole = path.read_text()
    recipe = json.loads(whole)
    recipe["transfer"]["layer_decay"] = 0.5
    path.write_text(json.dumps(recipe))
    with pytest.raises(RunError, match=r"is not the recipe that this run was trained by"):
        go_on(folder)
    path.write_text(whole)
    assert go_on(folder)
    assert_same_run(content(folder), world.undisturbed(kind))


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_examples_that_have_changed_are_refused_until_they_are_put_back(world, part, tmp_path):
    files = shutil.copytree(world.folder / "examples", tmp_path / "examples")
    how = settings("frozen", dropout=0.0)
    folder = begun_transfer(tmp_path / "run", world.folder / "trunk", examples_in(files), how)
    interrupt(folder, [SAVE_EVERY], is_killed=False)
    path, kept = files / f"{part}.csv", last_checkpoint(folder).name
    data = path.read_bytes()
    write_rows(path, planted(24, seed=8))
    with pytest.raises(RunError) as caught:
        go_on(folder)
    assert str(caught.value) == (
        f"{path} changed since the run began. Restore what was there, or go on without it by "
        "--force."
    )
    assert last_checkpoint(folder).name == kept
    path.write_bytes(data)
    witness = Witness()
    assert go_on(folder, witness)
    assert witness.said == []
    assert not checkpoints_of(folder).exists()


def test_a_transfer_goes_on_although_its_trunk_is_gone(world, tmp_path, no_flushing):
    trunk = shutil.copytree(world.folder / "trunk", tmp_path / "trunk")
    how = replace(settings("gradual"), epochs=4)
    folder = begun_transfer(tmp_path / "run", trunk, examples_in(world.folder / "examples"), how)
    shutil.rmtree(trunk)
    assert go_on(folder)
