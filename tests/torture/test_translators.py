"""A translator is as safe as any run: begun twice, stopped anywhere, or with other pairs."""

import random
import shutil
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from lives import Life, translate_life
from tiny_runs import (
    NUM_STEPS,
    SAVE_EVERY,
    TRANSLATION,
    VALIDATE_EVERY,
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
from tiny_transfers import tokenizer, trunk_recipe, write_trunk
from tiny_translators import begun_translator, pairs_in, translating, write_pairs

from headstart.apps.recipes.small import small
from headstart.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from headstart.errors import RunError
from headstart.files import PART
from headstart.pipeline.run_files import RECIPE_FILE
from headstart.pipeline.train_translator import read_started
from headstart.pipeline.translating.paired_recipe import paired
from headstart.pipeline.translating.translation_learner import TranslationLearner

NUM_STOPS = count(4, 40)
NUM_KILLS_AT_THE_BEGINNING = count(2, 30)
BEGIN_SECONDS = 0.1


@pytest.mark.parametrize("number", range(NUM_STOPS))
def test_a_translator_that_was_interrupted_anywhere_is_the_one_that_was_not(
    world, number, tmp_path, no_flushing
):
    draw = random.Random(number)
    folder = world.fresh(TRANSLATION, tmp_path / "run")
    # Once at a look, where the best weights have just changed, and once where some are averaged.
    steps = sorted({VALIDATE_EVERY * draw.randint(1, 4), 24, draw.randrange(1, NUM_STEPS)})
    for step in steps:
        if number % 2:
            with pytest.raises(Killed):
                go_on(folder, Witness(die_at=step))
        else:
            assert not go_on(folder, Witness(stop_at=step))
    assert go_on(folder)
    assert_same_run(content(folder), world.undisturbed(TRANSLATION))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_translator_that_is_killed_while_it_begins_is_begun_again_and_ends_as_any_other(
    world, tmp_path
):
    draw = random.Random(3)
    for number in range(NUM_KILLS_AT_THE_BEGINNING):
        folder = tmp_path / str(number)
        life = Life(translate_life, folder, world.folder)
        life.wait_for("begins")
        time.sleep(draw.uniform(0, BEGIN_SECONDS))
        life.send(signal.SIGKILL)
        assert life.end() == -signal.SIGKILL
        if (folder / RECIPE_FILE).exists():
            # Begun after all, but before it was told to look often.
            shutil.rmtree(folder)
        assert Life(translate_life, folder, world.folder).end() == 0
        assert_same_run(content(folder), world.undisturbed(TRANSLATION))
        assert not names_beside(folder, lambda path: path.name.endswith(PART))


def test_a_checkpoint_holds_the_best_weights_and_the_mean_of_the_last(world, tmp_path, no_flushing):
    folder = world.fresh(TRANSLATION, tmp_path / "run")
    # Of 4 that are averaged over the last 15 steps, 21 and 24 are behind it.
    assert not go_on(folder, Witness(stop_at=25))
    checkpoint = load_checkpoint(last_checkpoint(folder))
    assert {"best", "last", "average", "weights", "optimiser"} == checkpoint.groups.keys()
    assert checkpoint.facts["last"] == {"num_seen": 2}


@pytest.mark.parametrize("part", ["source", "target", "valid_source", "valid_target"])
def test_pairs_that_have_changed_are_refused_until_they_are_put_back(
    world, part, tmp_path, no_flushing
):
    pairs = shutil.copytree(world.folder / "pairs", tmp_path / "pairs")
    folder = begun_translator(tmp_path / "run", translating(pairs))
    assert not go_on(folder, Witness(stop_at=SAVE_EVERY))
    path = Path(getattr(pairs_in(pairs), part))
    data = path.read_bytes()
    path.write_bytes(data[::-1])
    with pytest.raises(RunError) as caught:
        go_on(folder)
    assert str(caught.value) == (
        f"{path} changed since the run began. Restore what was there, or go on without it by "
        "--force."
    )
    path.write_bytes(data)
    witness = Witness()
    assert go_on(folder, witness)
    assert witness.said == []


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_translator_with_a_start_goes_on_although_that_is_gone(tmp_path, is_killed, no_flushing):
    recipe = trunk_recipe()
    trunk = write_trunk(tmp_path / "trunk", recipe)
    write_pairs(tmp_path / "pairs")
    wanted = replace(
        translating(tmp_path / "pairs"),
        recipe=replace(paired(recipe, small()), length=16, sequences_per_step=8),
        start=trunk,
        tokenizer=None,
    )
    begun = begun_translator(tmp_path / "begun", wanted)
    assert tokenizer().size == recipe.model.trunk.vocabulary_size
    fates = {row["fate"] for row in read_started(begun)["tensors"]}
    # The head of the trunk has a bias and a matrix of its own, and so has the translator's.
    assert fates == {"loaded", "left random"}
    alone, folder = (shutil.copytree(begun, tmp_path / name) for name in ("alone", "run"))
    shutil.rmtree(trunk)
    assert go_on(alone)
    if is_killed:
        with pytest.raises(Killed):
            go_on(folder, Witness(die_at=SAVE_EVERY + 1))
    else:
        assert not go_on(folder, Witness(stop_at=SAVE_EVERY + 1))
    assert go_on(folder)
    assert_same_run(content(folder), content(alone))
    assert not (folder / "start.safetensors").exists()


def test_a_late_step_is_reached_at_once_and_no_earlier_pair_is_read(
    world, tmp_path, monkeypatch, no_flushing
):
    late, asked = 10_000, []
    wanted = translating(world.folder / "pairs", num_steps=2 * late)
    folder = begun_translator(tmp_path / "run", wanted)
    assert not go_on(folder, Witness(stop_at=1))
    first = load_checkpoint(last_checkpoint(folder))
    # As if all had been done that lies between.
    save_checkpoint(checkpoints_of(folder), late, first.facts, first.groups)
    batches = TranslationLearner.batches

    def noted(learner, step):
        asked.append(step)
        return batches(learner, step)

    monkeypatch.setattr(TranslationLearner, "batches", noted)
    assert not go_on(folder, Witness(stop_at=late + 2))
    # The last is made ready ahead, and not used.
    assert asked == [late, late + 1, late + 2]
