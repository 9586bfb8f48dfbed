"""Beginning a translator from a trunk: which tensors it took, and what became of every other."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from headstart.errors import RunError
from headstart.models.model import Model
from headstart.transfers.head_swap import norm_of, tensors_sha256

StartFate = Literal["loaded", "left random", "did not fit", "other vocabulary", "not used"]
# Tables with a row for each piece: of another vocabulary they would say something else.
PIECE_TABLES = (".tokens.weight", "head.weight", "head.bias")


@dataclass(frozen=True, kw_only=True)
class StartedTensor:
    """What became of one tensor, of the translator or, where it has no place there, of the run."""

    name: str
    shape: tuple[int, ...]
    fate: StartFate
    source: str | None
    """The run's tensor that stands, or would stand, in its place."""
    source_shape: tuple[int, ...] | None
    norm_before: float | None
    """The norm of its first draw; None for a tensor that only the run has."""
    norm_after: float | None
    """The norm that it begins to learn with."""


@dataclass(frozen=True, kw_only=True)
class TrunkStart:
    """Every tensor of a translator and of the run that it began from, one by one."""

    tensors: tuple[StartedTensor, ...]
    loaded_sha256: str
    """Of the loaded tensors as the translator holds them, equal to that of the run's."""


@torch.no_grad()
def start_from(
    model: Model[Any, Any], run_tensors: Mapping[str, Tensor], *, is_same_vocabulary: bool
) -> tuple[TrunkStart, dict[str, Tensor]]:
    """Loads what fits of a run into a model; returns the account of it, and what was loaded."""
    ours = dict(model.named_parameters())
    rows, loaded, used = [], {}, set()
    for name, weights in ours.items():
        source = next((each for each in names_in_run(name) if each in run_tensors), None)
        theirs = None if source is None else run_tensors[source]
        fate = fate_of(name, weights, theirs, is_same_vocabulary=is_same_vocabulary)
        norm_before = norm_of(weights)
        if source is not None:
            used.add(source)
        if fate == "loaded" and theirs is not None:
            require_numbers(source, theirs)
            weights.copy_(theirs)
            loaded[name] = theirs
        rows.append(
            StartedTensor(
                name=name,
                shape=tuple(weights.shape),
                fate=fate,
                source=source,
                source_shape=None if theirs is None else tuple(theirs.shape),
                norm_before=norm_before,
                norm_after=norm_of(weights),
            )
        )
    rows.extend(unused(run_tensors, used))
    seen, expected = (tensors_sha256(tensors, loaded) for tensors in (ours, loaded))
    if seen != expected:
        raise RunError(
            f"The trunk did not load: its {len(loaded)} tensors have the checksum {seen[:12]} "
            f"where the run's have {expected[:12]}. Restore the run from a copy."
        )
    return TrunkStart(tensors=tuple(rows), loaded_sha256=seen), loaded


def names_in_run(name: str) -> Iterator[str]:
    """Yields what a tensor may be called in a run: there as here, or in a single trunk."""
    yield name
    for half in ("encoder", "decoder"):
        if name.startswith(f"trunk.{half}."):
            yield name.replace(f".{half}.", ".", 1)
            # A translator's halves may be of one table.
            yield name.replace(f".{half}.", ".encoder.", 1)
    if name.startswith("head."):
        yield name.replace("head.", "head.language.", 1)


def fate_of(
    name: str, ours: Tensor, theirs: Tensor | None, *, is_same_vocabulary: bool
) -> StartFate:
    """Returns what becomes of a tensor, where the run has one for its place or none."""
    if theirs is None:
        return "left random"
    if not is_same_vocabulary and name.endswith(PIECE_TABLES):
        return "other vocabulary"
    return "loaded" if ours.shape == theirs.shape else "did not fit"


def require_numbers(name: str | None, tensor: Tensor) -> None:
    """Raises an error for a tensor that is infinite or none somewhere."""
    if not tensor.isfinite().all():
        raise RunError(
            f"The tensor {name} of the run holds a value that is no number. Start from an earlier "
            "run."
        )


def unused(run_tensors: Mapping[str, Tensor], used: set[str]) -> Iterator[StartedTensor]:
    """Yields the tensors of a run for which a translator has no place."""
    for name, tensor in run_tensors.items():
        if name not in used:
            yield StartedTensor(
                name=name,
                shape=tuple(tensor.shape),
                fate="not used",
                source=name,
                source_shape=tuple(tensor.shape),
                norm_before=None,
                norm_after=None,
            )
