"""A run that goes on at step 10,000 is soon at step 10,001, and reads nothing that lies behind."""

import os
import time
from dataclasses import replace

import pytest
from tiny_runs import Witness, begun, checkpoints_of, go_on, last_checkpoint, wanted

from headstart.apps.recipes.lab import lab
from headstart.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from headstart.pipeline import pretrain
from headstart.pipeline.pretrain import begin
from headstart.pipeline.run_files import TOKENIZER_FOLDER
from headstart.pipeline.watch import Watch
from headstart.tokenizers.folder import load_tokenizer, save_tokenizer

LATE, NUM_MORE = 10_000, 2
MOST_SECONDS = 5.0


def brought_forward(folder) -> None:
    """Makes the checkpoint of a run's first step one of a late step, as if all had been done."""
    go_on(folder, Witness(stop_at=1))
    path = last_checkpoint(folder)
    first = load_checkpoint(path)
    save_checkpoint(checkpoints_of(folder), LATE, first.facts, first.groups)


def timed_resumption(folder, monkeypatch) -> tuple[float, list[int]]:
    """Returns how long it took until the loop began, and the steps whose rows were asked for."""
    asked: list[int] = []
    began_at: list[float] = []
    new_learner = pretrain.new_learner

    def noted_learner(*arguments):
        learner = new_learner(*arguments)

        def at(step):
            began_at.append(time.monotonic())
            asked.append(step)
            return learner.stream.at(step)

        return replace(learner, stream=replace(learner.stream, at=at))

    monkeypatch.setattr(pretrain, "new_learner", noted_learner)
    started_at = time.monotonic()
    go_on(folder, Witness(stop_at=LATE + NUM_MORE))
    return began_at[0] - started_at, asked


@pytest.mark.parametrize("objective", ["causal", "masked", "masked+next"])
def test_a_late_step_is_reached_at_once_and_no_earlier_row_is_read(
    world, objective, tmp_path, monkeypatch, no_flushing, record_property
):
    folder = begun(tmp_path / "run", world.text, objective, num_steps=2 * LATE)
    brought_forward(folder)
    seconds, asked = timed_resumption(folder, monkeypatch)
    assert seconds < MOST_SECONDS
    # The last is made ready ahead, and not used.
    assert asked == [LATE, LATE + 1, LATE + 2]
    record_property("seconds", round(seconds, 3))


@pytest.mark.skipif(not os.environ.get("HEADSTART_TORTURE"), reason="A model of full size.")
def test_a_model_of_full_size_is_at_a_late_step_in_time_too(
    world, tmp_path, monkeypatch, record_property
):
    recipe = replace(lab(), sequences_per_step=1)
    small = load_tokenizer(world.folder / "begun" / "causal" / TOKENIZER_FOLDER)
    num_missing = recipe.model.trunk.vocabulary_size - small.size
    large = small.with_pieces([f"<made up {number}>" for number in range(num_missing)])
    save_tokenizer(large, tmp_path / "tokenizer")
    asked_for = replace(
        wanted(world.text, "causal", 2 * LATE), recipe=recipe, tokenizer=tmp_path / "tokenizer"
    )
    begin(asked_for, tmp_path / "run", Watch())
    brought_forward(tmp_path / "run")
    seconds, asked = timed_resumption(tmp_path / "run", monkeypatch)
    assert seconds < MOST_SECONDS
    assert asked == [LATE, LATE + 1, LATE + 2]
    record_property("seconds", round(seconds, 3))
    record_property("recipe", "lab")
