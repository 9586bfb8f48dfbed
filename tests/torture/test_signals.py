"""SIGTERM and Ctrl-C: one asks for a checkpoint and an end, a second ends at once."""

import random
import signal
import sys
import time

import pytest
from lives import Life, command_life, deaf_command_life, slow_command_life
from tiny_runs import (
    KINDS,
    NUM_STEPS,
    VALIDATE_EVERY,
    assert_same_run,
    checkpoints_of,
    content,
    count,
    go_on,
)

from headstart.checkpoints.names import steps_in
from headstart.locks import locked
from headstart.pipeline.resume import resume
from headstart.pipeline.resumption import Resumption
from headstart.pipeline.training_run import TrainingRun
from headstart.pipeline.watch import Watch

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")

NUM_SIGNALS = count(7, 140)
EXIT_CODES = {signal.SIGTERM: 143, signal.SIGINT: 130}
MOST_SECONDS, AT_ONCE_SECONDS = 10.0, 1.0
STEP_SECONDS = 0.02


@pytest.mark.parametrize("number", range(NUM_SIGNALS))
def test_a_signal_ends_a_run_after_its_step_with_a_checkpoint_and_nothing_is_lost(
    world, number, tmp_path, record_property
):
    draw, kind = random.Random(number), KINDS[number % len(KINDS)]
    which = (signal.SIGTERM, signal.SIGINT)[(number + number // len(KINDS)) % 2]
    folder, errors = world.fresh(kind, tmp_path / "run"), tmp_path / "errors"
    life = Life(command_life, world.cache, errors, "resume", str(folder))
    assert life.wait_for("step done", times=draw.randint(1, NUM_STEPS - 5))
    time.sleep(draw.uniform(0, STEP_SECONDS))
    sent_at = life.send(which)
    assert life.end() == EXIT_CODES[which]
    seconds = time.monotonic() - sent_at
    assert seconds < MOST_SECONDS
    begun_later = [
        event for event in life.events if event.what == "step begins" and event.at > sent_at
    ]
    assert len(begun_later) <= 1
    assert steps_in(checkpoints_of(folder)) == [life.steps()[-1]]
    assert f"headstart resume {folder}" in errors.read_text()
    again = Life(command_life, world.cache, errors, "resume", str(folder))
    assert again.end() == 0
    assert life.steps() + again.steps() == list(range(1, NUM_STEPS + 1))
    assert_same_run(content(folder), world.undisturbed(kind))
    record_property("seconds", round(seconds, 3))


@pytest.mark.parametrize("first", EXIT_CODES)
@pytest.mark.parametrize("second", EXIT_CODES)
def test_a_second_signal_ends_a_run_at_once(world, first, second, tmp_path):
    folder, errors = world.fresh("masked", tmp_path / "run"), tmp_path / "errors"
    life = Life(slow_command_life, world.cache, errors, "resume", str(folder))
    assert life.wait_for("long step begins")
    life.send(first)
    assert life.wait_for("asked to stop")
    sent_at = life.send(second)
    assert life.end() == EXIT_CODES[second]
    assert time.monotonic() - sent_at < AT_ONCE_SECONDS
    assert steps_in(checkpoints_of(folder)) == []
    assert Life(command_life, world.cache, errors, "resume", str(folder)).end() == 0
    assert_same_run(content(folder), world.undisturbed("masked"))


@pytest.mark.parametrize(
    ("life_of", "what"),
    [
        (slow_command_life, "long reading begins"),
        (deaf_command_life, "long learning begins"),
    ],
)
@pytest.mark.parametrize("which", EXIT_CODES)
def test_a_signal_before_the_first_step_ends_at_once_since_there_is_nothing_to_keep(
    world, which, life_of, what, tmp_path
):
    folder, errors = tmp_path / "run", tmp_path / "errors"
    words = ("pretrain", str(world.text), "--out", str(folder), "--steps", "5", "--recipe", "lab")
    life = Life(life_of, tmp_path / "cache", errors, *words)
    assert life.wait_for(what)
    sent_at = life.send(which)
    assert life.end() == EXIT_CODES[which]
    assert time.monotonic() - sent_at < AT_ONCE_SECONDS
    assert errors.read_text().endswith("Stopped before a step was done; nothing is lost.\n")


@pytest.mark.parametrize("kind", ["masked", "full", "frozen", "translation"])
@pytest.mark.parametrize(
    ("look", "is_last"), [("validate", False), ("validate", True), ("finish", True)]
)
def test_a_run_that_is_stopped_while_it_looks_at_held_out_text_makes_up_for_it(
    world, kind, look, is_last, tmp_path, monkeypatch
):
    folder, asked = world.fresh(kind, tmp_path / "run"), []
    step = NUM_STEPS if is_last else 2 * VALIDATE_EVERY
    look_at_it = getattr(TrainingRun, look)

    def asked_to_stop_meanwhile(run, state):
        asked.extend([step] if state.step == step else [])
        return look_at_it(run, state)

    with monkeypatch.context() as patch, locked(folder):
        patch.setattr(TrainingRun, look, asked_to_stop_meanwhile)
        assert not resume(folder, Resumption(), Watch(should_stop=lambda: bool(asked)))
    assert steps_in(checkpoints_of(folder)) == [step]
    assert go_on(folder)
    # The last checkpoint may be from before the look, and is not replaced: it is whole.
    seen, expected = content(folder), world.undisturbed(kind)
    for name in expected.keys() & {"weights", "log", "results", "test"}:
        assert seen[name] == expected[name], name
    if "checkpoint" in expected:
        kept, whole = (each["checkpoint"]["weights.safetensors"] for each in (seen, expected))
        assert kept == whole
