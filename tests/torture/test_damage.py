"""A checkpoint whose files are damaged is noticed, and the one before it is taken instead."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_runs import (
    NUM_STEPS,
    SAVE_EVERY,
    Killed,
    Witness,
    assert_same_run,
    checkpoints_of,
    content,
    count,
    go_on,
)

from headstart.checkpoints.checkpoint import Checkpoint, load_checkpoint, newest_checkpoint
from headstart.checkpoints.names import checkpoint_path, steps_in
from headstart.errors import FileError, RunError

NUM_DAMAGES = count(60, 3_000)
OLDER, NEWER = 2 * SAVE_EVERY, 3 * SAVE_EVERY
STOPPED_AT = NEWER + 1


def flip_a_bit(data: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(data))
    flipped = data[place] ^ (1 << draw.randrange(8))
    return data[:place] + bytes([flipped]) + data[place + 1 :]


def cut_short(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data))]


def zero_the_tail(data: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(data))
    return data[:place] + bytes(len(data) - place)


DAMAGES = (flip_a_bit, cut_short, zero_the_tail)


@pytest.fixture(scope="module", params=["masked", "full", "translation"])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def stopped(world, kind, tmp_path_factory):
    """A run that was killed behind its third checkpoint, and has the last two."""
    folder = world.fresh(kind, tmp_path_factory.mktemp("damage") / "run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_CACHE", str(world.cache))
        with pytest.raises(Killed):
            go_on(folder, Witness(die_at=STOPPED_AT))
    assert steps_in(checkpoints_of(folder)) == [OLDER, NEWER]
    return folder


@pytest.fixture
def run(stopped, tmp_path):
    return shutil.copytree(stopped, tmp_path / "run")


def same(one: Checkpoint, other: Checkpoint) -> bool:
    """Whether two checkpoints hold the same facts and, byte for byte, the same tensors."""
    return (one.step, one.facts, flat(one)) == (other.step, other.facts, flat(other))


def flat(checkpoint: Checkpoint) -> dict[tuple[str, str], tuple[object, ...]]:
    return {
        (group, name): (tensor.dtype, tensor.shape, tensor.numpy().tobytes())
        for group, tensors in checkpoint.groups.items()
        for name, tensor in tensors.items()
    }


def damage(path: Path, how: Callable[[bytes, random.Random], bytes], draw: random.Random) -> bool:
    """Damages a file; returns whether that has changed it."""
    data = path.read_bytes()
    damaged = how(data, draw)
    path.write_bytes(damaged)
    return damaged != data


def test_whatever_is_damaged_what_is_loaded_is_what_one_of_the_two_was(stopped, record_property):
    folder, draw = checkpoints_of(stopped), random.Random(11)
    truth = {step: load_checkpoint(checkpoint_path(folder, step)) for step in (OLDER, NEWER)}
    newer = checkpoint_path(folder, NEWER)
    files = sorted(newer.iterdir())
    num_noticed = 0
    for number in range(NUM_DAMAGES):
        path, how = files[number % len(files)], DAMAGES[number // len(files) % len(DAMAGES)]
        data, said = path.read_bytes(), []
        has_changed = damage(path, how, draw)
        loaded = newest_checkpoint(folder, said.append)
        where = f"{how.__name__} in {path.name}, number {number}"
        if said:
            assert has_changed, where
            assert same(loaded, truth[OLDER]), where
            assert len(said) == 1
            assert str(path) in said[0]
            assert said[0].endswith(f"Going back to the checkpoint before {newer.name}.")
            num_noticed += 1
        else:
            # Only what does not change the content may pass: blanks of the state's layout, say.
            assert same(loaded, truth[NEWER]), where
            assert path.suffix == ".json" or not has_changed, where
        path.write_bytes(data)
    assert num_noticed > 0.9 * NUM_DAMAGES
    record_property("damages", NUM_DAMAGES)
    record_property("noticed", num_noticed)


@pytest.mark.parametrize("name", ["state.json", "weights.safetensors"])
def test_a_file_that_is_gone_is_noticed_like_a_damaged_one(run, name):
    said = []
    (checkpoint_path(checkpoints_of(run), NEWER) / name).unlink()
    assert newest_checkpoint(checkpoints_of(run), said.append).step == OLDER
    assert name in said[0]


def test_a_run_goes_on_from_the_one_before_and_ends_as_if_nothing_had_been_damaged(
    world, kind, run
):
    witness = Witness()
    damage(
        checkpoint_path(checkpoints_of(run), NEWER) / "optimiser.safetensors",
        flip_a_bit,
        random.Random(1),
    )
    assert go_on(run, witness)
    assert witness.steps == list(range(OLDER + 1, NUM_STEPS + 1))
    assert "optimiser.safetensors is damaged" in witness.said[0]
    assert_same_run(content(run), world.undisturbed(kind))


def test_a_damaged_checkpoint_is_written_anew_when_the_run_comes_by_again(run):
    newer = checkpoint_path(checkpoints_of(run), NEWER)
    damage(newer / "weights.safetensors", flip_a_bit, random.Random(1))
    with pytest.raises(FileError):
        load_checkpoint(newer)
    go_on(run, Witness(stop_at=NEWER))
    assert load_checkpoint(newer).step == NEWER
    assert steps_in(checkpoints_of(run)) == [OLDER, NEWER]


def test_a_checkpoint_just_saved_outlives_damaged_ones_of_later_steps(run):
    folder = checkpoints_of(run)
    later = checkpoint_path(folder, NEWER + SAVE_EVERY)
    shutil.copytree(checkpoint_path(folder, NEWER), later)
    for step in (NEWER, NEWER + SAVE_EVERY):
        damage(checkpoint_path(folder, step) / "weights.safetensors", cut_short, random.Random(1))
    go_on(run, Witness(stop_at=OLDER + 2))
    assert load_checkpoint(checkpoint_path(folder, OLDER + 2)).step == OLDER + 2
    assert newest_checkpoint(folder, lambda _line: None).step == OLDER + 2


def test_where_no_checkpoint_is_whole_an_error_says_so_and_nothing_is_removed(run):
    folder = checkpoints_of(run)
    for step in (OLDER, NEWER):
        damage(checkpoint_path(folder, step) / "weights.safetensors", cut_short, random.Random(1))
    with pytest.raises(RunError, match=f"No checkpoint in {folder} is whole"):
        go_on(run)
    assert steps_in(folder) == [OLDER, NEWER]


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_log_is_named_and_the_run_still_ends_with_the_same_weights(world, kind, run, how):
    witness = Witness()
    damage(run / "log.jsonl", how, random.Random(3))
    assert go_on(run, witness)
    assert "log.jsonl is damaged before step" in witness.said[0]
    expected = world.undisturbed(kind)
    for name in expected.keys() - {"log"}:
        assert content(run)[name] == expected[name], name
