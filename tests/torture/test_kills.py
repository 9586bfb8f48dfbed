"""SIGKILL at any instant: the run finishes, and is bit for bit the run that nothing disturbed."""

import random
import shutil
import signal
import sys
import time
from dataclasses import dataclass, replace

import pytest
from lives import Life, pretrain_life, resume_life
from tiny_runs import (
    KINDS,
    OBJECTIVES,
    SAVE_EVERY,
    assert_same_run,
    begun,
    content,
    count,
    go_on,
    look_often,
    names_beside,
    wanted,
)

from headstart.files import PART
from headstart.pipeline.planning import Place
from headstart.pipeline.pretrain import begin
from headstart.pipeline.watch import Watch

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")

NUM_KILLS = dict.fromkeys(KINDS, count(3, 67)) | {"causal": count(4, 66)}
NUM_KILLS_AT_THE_BEGINNING = count(3, 30)
NUM_KILLS_ON_A_GPU = count(3, 10)
# About what a step and the making ready take; kills fall anywhere in that time.
STEP_SECONDS, BEGIN_SECONDS = 0.02, 0.2
# A save flushes each of five or six files, the folder of each, and the folder of all, twice.
NUM_FLUSHES, FLUSH_SECONDS = 11, 0.002


@dataclass
class Deaths:
    """What became of the processes that were killed."""

    num_kills: int = 0
    num_in_saves: int = 0
    most_redone: int = 0


def kill_somewhere(life: Life, draw: random.Random, *, is_aimed_at_a_save: bool) -> None:
    """Kills a life inside one of its next saves, or at any instant of its next two intervals."""
    if is_aimed_at_a_save:
        life.wait_for("save begins", times=draw.randint(1, 2))
        life.wait_for("flushed", times=draw.randrange(NUM_FLUSHES))
        time.sleep(draw.uniform(0, FLUSH_SECONDS))
    elif num_steps := draw.randint(0, 2 * SAVE_EVERY):
        life.wait_for("step done", times=num_steps)
        time.sleep(draw.uniform(0, STEP_SECONDS))
    else:
        time.sleep(draw.uniform(0, BEGIN_SECONDS))
    life.send(signal.SIGKILL)


def torment(folder, cache, draw: random.Random, most_kills: int, deaths: Deaths) -> None:
    """Kills every process that goes on with a run, so many times, then lets one finish it."""
    last_step = 0
    for number in range(most_kills + 1):
        life = Life(resume_life, folder, cache, SAVE_EVERY)
        if number < most_kills:
            # More are aimed at saves than a third, since some come too late.
            is_short = 5 * deaths.num_in_saves <= 2 * deaths.num_kills
            kill_somewhere(life, draw, is_aimed_at_a_save=is_short)
        code = life.end()
        if begun := life.steps("step begins"):
            deaths.most_redone = max(deaths.most_redone, last_step - (begun[0] - 1))
        last_step = max([last_step, *life.steps()])
        if code == 0:
            return
        assert code == -signal.SIGKILL
        deaths.num_kills += 1
        deaths.num_in_saves += life.num_told("save begins") > life.num_told("save done")


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_killed_again_and_again_ends_as_the_one_that_was_not(
    world, kind, tmp_path, record_property
):
    draw, deaths, num_runs = random.Random(kind), Deaths(), 0
    while deaths.num_kills < NUM_KILLS[kind]:
        folder = world.fresh(kind, tmp_path / str(num_runs))
        torment(folder, world.cache, draw, NUM_KILLS[kind] - deaths.num_kills, deaths)
        assert_same_run(content(folder), world.undisturbed(kind))
        assert not names_beside(folder, lambda path: path.name.endswith(PART))
        shutil.rmtree(folder)
        num_runs += 1
    assert deaths.num_in_saves >= deaths.num_kills // 3
    assert deaths.most_redone <= SAVE_EVERY
    record_property("runs", num_runs)
    record_property("kills", deaths.num_kills)
    record_property("kills_in_saves", deaths.num_in_saves)
    record_property("most_steps_redone", deaths.most_redone)


def test_a_run_that_is_killed_while_it_begins_is_begun_again_and_ends_as_any_other(
    world, tmp_path, record_property
):
    draw, left_alone = random.Random(7), begun(tmp_path / "alone", world.text, "masked")
    go_on(left_alone)
    for number in range(NUM_KILLS_AT_THE_BEGINNING):
        folder, cache = tmp_path / f"run-{number}", tmp_path / f"cache-{number}"
        life = Life(pretrain_life, folder, cache, world.text, "masked")
        life.wait_for("begins")
        time.sleep(draw.uniform(0, BEGIN_SECONDS))
        life.send(signal.SIGKILL)
        assert life.end() == -signal.SIGKILL
        has_begun = (folder / "recipe.json").exists()
        arguments = (SAVE_EVERY,) if has_begun else (world.text, "masked")
        again = Life(resume_life if has_begun else pretrain_life, folder, cache, *arguments)
        assert again.end() == 0
        assert_same_run(content(folder), content(left_alone))
        for name in ("corpus.sketch", "corpus.json"):
            assert (folder / name).read_bytes() == (left_alone / name).read_bytes()
    record_property("kills", NUM_KILLS_AT_THE_BEGINNING)


@pytest.mark.gpu
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_on_a_gpu_that_is_told_to_be_deterministic_too(world, objective, tmp_path, record_property):
    on_a_gpu = Place(device="cuda", num_threads=1, is_deterministic=True)
    begun_there = tmp_path / "begun"
    begin(replace(wanted(world.text, objective), place=on_a_gpu), begun_there, Watch())
    look_often(begun_there)
    left_alone = shutil.copytree(begun_there, tmp_path / "alone")
    assert Life(resume_life, left_alone, world.cache, SAVE_EVERY).end() == 0
    killed, deaths = shutil.copytree(begun_there, tmp_path / "killed"), Deaths()
    torment(killed, world.cache, random.Random(objective), NUM_KILLS_ON_A_GPU, deaths)
    assert_same_run(content(killed), content(left_alone))
    assert deaths.most_redone <= SAVE_EVERY
    record_property("kills", deaths.num_kills)
