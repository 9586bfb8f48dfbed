"""Over three epochs with interruptions, a run reads what an undisturbed run reads, in its order."""

import random
import re

import numpy as np
import pytest
from tiny_runs import OBJECTIVES, Killed, Witness, begun, count, go_on, learner_of

from headstart.training.loop import Trainer

pytestmark = pytest.mark.usefixtures("no_flushing")

NUM_EPOCHS, SAVE_EVERY = 3, 4
NUM_RUNS = count(5, 20)
# Enough for a dozen steps an epoch or more, so that three epochs take a second.
NUM_DOCUMENTS = 40

NUMBER = re.compile(r"[\d,]+")
Read = list[tuple[int, tuple[str, ...]]]


@pytest.fixture
def read(monkeypatch) -> Read:
    """The steps that are done, with the names of the rows that each one reads."""
    done: Read = []
    do_step = Trainer.do_step

    def noted(trainer, state, judged, batches):
        done.append((state.step, tuple(name for batch in batches for name in batch.names)))
        return do_step(trainer, state, judged, batches)

    monkeypatch.setattr(Trainer, "do_step", noted)
    return done


@pytest.fixture(scope="module")
def short_text(tmp_path_factory, world):
    path = tmp_path_factory.mktemp("order") / "short.txt"
    lines = world.text.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:NUM_DOCUMENTS]))
    return path


@pytest.fixture
def new_run(short_text, tmp_path):
    """Begins runs of three epochs; returns the folder of one and the steps of an epoch."""

    def make(objective: str):
        tried = begun(tmp_path / "tried", short_text, objective, num_steps=1)
        num_steps = learner_of(tried).stream.steps_per_epoch
        folder = begun(tmp_path / "run", short_text, objective, num_steps=NUM_EPOCHS * num_steps)
        return folder, num_steps

    return make


def interruptions(number: int, end: int) -> list[int]:
    """Returns the steps after which a run is interrupted; `end` is the last of the first epoch."""
    draw = random.Random(number)
    kinds = (
        [end, 2 * end],  # exactly at an epoch's end
        sorted(draw.sample(range(end + 1, 2 * end), 2)),  # twice in one epoch
        [end - 1, end, end + 1],  # around an epoch's end
        sorted(draw.sample(range(1, NUM_EPOCHS * end), 5)),
        [end - 1, end, 2 * end - 1, 2 * end],
    )
    return kinds[number % len(kinds)]


def uninterrupted(folder, num_steps: int) -> Read:
    """Returns what a run is to read, asked of its text at once and not step by step."""
    learner = learner_of(folder)
    return [
        (step, tuple(name for batch in learner.batches(step) for name in batch.names))
        for step in range(num_steps)
    ]


@pytest.mark.parametrize("number", range(NUM_RUNS))
def test_an_interrupted_run_reads_the_same_rows_in_the_same_order(
    read, new_run, number, record_property
):
    is_killed = number % 2 == 1
    folder, end = new_run(OBJECTIVES[number % len(OBJECTIVES)])
    expected = uninterrupted(folder, NUM_EPOCHS * end)
    cuts = interruptions(number, end)
    for step in cuts:
        if is_killed:
            with pytest.raises(Killed):
                go_on(folder, Witness(die_at=step), SAVE_EVERY)
        else:
            assert not go_on(folder, Witness(stop_at=step), SAVE_EVERY)
    assert go_on(folder, save_every=SAVE_EVERY)
    # What is read again after a kill is what was read before; in the end each step was done.
    assert set(read) == set(expected)
    assert list(dict(read).items()) == expected
    most_redone = len(cuts) * SAVE_EVERY if is_killed else 0
    assert len(read) - len(expected) <= most_redone
    record_property("interruptions", len(cuts))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_an_epoch_reads_no_row_twice_and_each_epoch_has_an_order_of_its_own(new_run, objective):
    folder, end = new_run(objective)
    rows = [names for _, names in uninterrupted(folder, NUM_EPOCHS * end)]
    epochs = [
        [name for names in rows[first : first + end] for name in names]
        for first in range(0, NUM_EPOCHS * end, end)
    ]
    for epoch in epochs:
        assert len(set(epoch)) == len(epoch)
    # By rank, since all rows begin a little later in another epoch.
    starts = [[int(NUMBER.search(name)[0].replace(",", "")) for name in epoch] for epoch in epochs]
    assert len({tuple(np.argsort(np.argsort(row)).tolist()) for row in starts}) == NUM_EPOCHS
