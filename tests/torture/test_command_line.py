"""The real command line: a run is killed, stopped, gone on with, and ends as if never touched."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tiny_runs import assert_same_run, begun, checkpoints_of, content, go_on, last_checkpoint

from headstart.checkpoints.names import steps_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")

NUM_STEPS, SAVE_EVERY = 150, 10
MOST_SECONDS = 120.0
RECIPE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from tiny_runs import tiny_recipe
def recipe():
    return tiny_recipe("masked+next")
"""


def headstart(*words: object) -> subprocess.Popen:
    """Starts the command line in a process of its own."""
    command = [sys.executable, "-m", "headstart", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_step(process: subprocess.Popen, folder: Path, step: int) -> None:
    """Waits until a run has kept a step, or one behind it."""
    deadline = time.monotonic() + MOST_SECONDS
    while max(steps_in(checkpoints_of(folder)), default=0) < step:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_a_run_is_killed_and_stopped_and_ends_as_one_that_was_left_alone(
    world, tmp_path, no_flushing, record_property
):
    left_alone = begun(tmp_path / "alone", world.text, "masked+next", NUM_STEPS)
    assert go_on(left_alone, save_every=SAVE_EVERY)
    recipe, folder = tmp_path / "recipe.py", tmp_path / "run"
    recipe.write_text(RECIPE)
    every = ("--save-every", SAVE_EVERY)
    how = ("--recipe", recipe, "--steps", NUM_STEPS, "--threads", 1, *every)

    killed = headstart("pretrain", world.text, "--out", folder, *how)
    wait_for_step(killed, folder, 2 * SAVE_EVERY)
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=MOST_SECONDS)
    assert killed.returncode == -signal.SIGKILL
    kept = int(last_checkpoint(folder).name.removeprefix("step-"))

    stopped = headstart("resume", folder, *every)
    wait_for_step(stopped, folder, kept + SAVE_EVERY)
    sent_at = time.monotonic()
    stopped.send_signal(signal.SIGTERM)
    _, errors = stopped.communicate(timeout=MOST_SECONDS)
    seconds = time.monotonic() - sent_at
    assert stopped.returncode == 143
    assert seconds < 10
    said = [line for line in errors.splitlines() if not line.startswith("Step ")]
    assert said == [
        "Stopping after this step, with a checkpoint. Once more stops at once.",
        f"Stopped; nothing is lost. Go on with: headstart resume {folder}",
    ]

    finished = headstart("resume", folder, *every)
    output, _ = finished.communicate(timeout=MOST_SECONDS)
    assert finished.returncode == 0
    assert output
    assert_same_run(content(folder), content(left_alone))
    assert (folder / "curves.svg").exists()
    record_property("seconds_to_stop", round(seconds, 3))


def test_a_finished_run_is_said_to_be_finished_and_not_touched(world, tmp_path, no_flushing):
    folder = world.fresh("causal", tmp_path / "run")
    go_on(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = headstart("resume", folder)
    done.communicate(timeout=MOST_SECONDS)
    assert done.returncode == 0
    lock = folder / ".lock"
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert {path for path in after if after[path] != before.get(path)} <= {lock}
