"""Checkpoints: the last two are kept, the newest that is whole is found, what is not is named."""

import os

import pytest
import torch

from headstart.checkpoints.checkpoint import (
    load_checkpoint,
    newest_checkpoint,
    save_checkpoint,
    size_of,
)
from headstart.checkpoints.names import checkpoint_path, steps_in
from headstart.errors import DamagedFileError, RunError
from headstart.files import write_sealed_json

pytestmark = pytest.mark.usefixtures("no_flushing")


@pytest.fixture
def no_flushing(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)


def groups_of(step: int) -> dict[str, dict[str, torch.Tensor]]:
    return {"weights": {"a": torch.full((3,), float(step))}, "other": {"b": torch.tensor(step)}}


def save(folder, *steps: int) -> None:
    for step in steps:
        save_checkpoint(folder, step, {"seconds": step / 2}, groups_of(step))


def spoil(folder, step: int) -> None:
    (checkpoint_path(folder, step) / "weights.safetensors").write_bytes(b"spoiled")


def found(folder) -> tuple[int | None, list[str]]:
    said: list[str] = []
    checkpoint = newest_checkpoint(folder, said.append)
    return (None if checkpoint is None else checkpoint.step), said


def test_a_checkpoint_survives_the_round_trip(tmp_path):
    save(tmp_path, 12)
    seen = load_checkpoint(checkpoint_path(tmp_path, 12))
    assert (seen.step, seen.facts) == (12, {"seconds": 6.0})
    assert torch.equal(seen.groups["weights"]["a"], torch.full((3,), 12.0))
    assert torch.equal(seen.groups["other"]["b"], torch.tensor(12))


def test_the_last_two_are_kept(tmp_path):
    save(tmp_path, 1, 2, 3, 40, 500)
    assert steps_in(tmp_path) == [40, 500]


def test_steps_of_any_length_are_in_order(tmp_path):
    save(tmp_path, 99_999_999, 100_000_000)
    assert steps_in(tmp_path) == [99_999_999, 100_000_000]
    assert found(tmp_path) == (100_000_000, [])


def test_where_nothing_was_saved_nothing_is_found(tmp_path):
    assert found(tmp_path / "missing") == (None, [])
    assert found(tmp_path) == (None, [])


def test_what_has_another_name_is_no_checkpoint(tmp_path):
    save(tmp_path, 5)
    for name in ("step-6", "step-000000xx", ".0123.part", "step-00000007.old"):
        (tmp_path / name).mkdir()
    assert steps_in(tmp_path) == [5]


def test_the_newest_that_is_whole_is_taken_and_the_others_are_named(tmp_path):
    save(tmp_path, 1, 2)
    spoil(tmp_path, 2)
    step, said = found(tmp_path)
    assert step == 1
    assert len(said) == 1
    assert said[0].endswith("Going back to the checkpoint before step-00000002.")


def test_a_spoiled_checkpoint_is_replaced_by_the_same_step(tmp_path):
    save(tmp_path, 1, 2)
    spoil(tmp_path, 2)
    save(tmp_path, 2)
    assert found(tmp_path) == (2, [])
    assert steps_in(tmp_path) == [1, 2]


def test_spoiled_ones_of_later_steps_do_not_push_out_whole_ones(tmp_path):
    save(tmp_path, 10, 20)
    spoil(tmp_path, 20)
    save(tmp_path, 15)
    assert steps_in(tmp_path) == [10, 15]
    assert found(tmp_path) == (15, [])


def test_where_none_is_whole_an_error_says_so(tmp_path):
    save(tmp_path, 1, 2)
    spoil(tmp_path, 1)
    spoil(tmp_path, 2)
    with pytest.raises(RunError, match=f"No checkpoint in {tmp_path} is whole"):
        found(tmp_path)


@pytest.mark.parametrize("state", [None, [], {"step": 1}, {"step": "x", "facts": {}, "sha256": {}}])
def test_a_state_that_describes_no_checkpoint_is_refused(tmp_path, state):
    write_sealed_json(tmp_path / "state.json", state)
    with pytest.raises(DamagedFileError, match="does not describe a checkpoint"):
        load_checkpoint(tmp_path)


def test_the_size_is_that_of_the_tensors(tmp_path):
    assert size_of(groups_of(1)) == 3 * 4 + 8
