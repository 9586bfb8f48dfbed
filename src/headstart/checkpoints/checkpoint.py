"""Checkpoints of a run: a folder each, whole or not at all, every byte vouched for.

run/checkpoints/step-00001200/  state.json, weights.safetensors, optimiser.safetensors, …
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from headstart.checkpoints.names import checkpoint_path, steps_in
from headstart.checkpoints.tensor_file import read_tensors, write_tensors
from headstart.errors import DamagedFileError, FileError, RunError
from headstart.files import (
    durable_folder,
    read_sealed_json,
    remove_folder,
    require_space,
    write_sealed_json,
)

STATE_FILE = "state.json"
NUM_KEPT = 2
Groups = Mapping[str, Mapping[str, Tensor]]


@dataclass(frozen=True)
class Checkpoint:
    """A run between two steps: groups of named tensors, and the facts that belong to them."""

    step: int
    facts: Mapping[str, object]
    groups: dict[str, dict[str, Tensor]]


def save_checkpoint(folder: Path, step: int, facts: Mapping[str, object], groups: Groups) -> None:
    """Writes a checkpoint, then removes all but it and the one before it."""
    path = checkpoint_path(folder, step)
    num_bytes = size_of(groups)
    require_space(nearest_folder(folder), num_bytes, f"the checkpoint {path.name}")
    try:
        with durable_folder(path) as beside:
            hashes = {
                name: write_tensors(beside / f"{name}.safetensors", tensors)
                for name, tensors in groups.items()
            }
            write_sealed_json(
                beside / STATE_FILE, {"step": step, "facts": dict(facts), "sha256": hashes}
            )
            if path.exists():
                remove_folder(path)  # damaged, or the run would have gone on from there
    except FileError as error:
        raise FileError(
            f"The checkpoint {path} of {num_bytes:,} bytes could not be kept; what was kept before "
            f"is whole. {error}"
        ) from error
    steps = steps_in(folder)
    kept = [other for other in steps if other <= step][-NUM_KEPT:]
    for other in steps:
        # Later ones were damaged too: a run goes on from the last that is whole.
        if other not in kept:
            remove_folder(checkpoint_path(folder, other))


def newest_checkpoint(folder: Path, warn: Callable[[str], None]) -> Checkpoint | None:
    """Returns the newest checkpoint that is whole; says which ones are not."""
    steps = steps_in(folder)
    for step in reversed(steps):
        path = checkpoint_path(folder, step)
        try:
            return load_checkpoint(path)
        except FileError as error:
            warn(f"{error} Going back to the checkpoint before {path.name}.")
            last_error = error
    if steps:
        raise RunError(
            f"No checkpoint in {folder} is whole. Restore one from a copy, or begin again."
        ) from last_error
    return None


def load_checkpoint(path: Path) -> Checkpoint:
    """Reads a checkpoint and checks every byte of it."""
    state = read_sealed_json(path / STATE_FILE)
    try:
        assert isinstance(state, dict)
        step, facts, hashes = int(state["step"]), dict(state["facts"]), dict(state["sha256"])
    except (AssertionError, KeyError, TypeError, ValueError) as error:
        raise DamagedFileError(f"{path / STATE_FILE} does not describe a checkpoint.") from error
    groups = {
        name: read_tensors(path / f"{name}.safetensors", digest) for name, digest in hashes.items()
    }
    return Checkpoint(step, facts, groups)


def size_of(groups: Groups) -> int:
    """Returns about how many bytes a checkpoint of these tensors takes."""
    return sum(
        tensor.numel() * tensor.element_size()
        for tensors in groups.values()
        for tensor in tensors.values()
    )


def nearest_folder(folder: Path) -> Path:
    """Returns the folder, or the nearest above it that exists."""
    return folder if folder.is_dir() else nearest_folder(folder.parent)
