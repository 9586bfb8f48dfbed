"""The head swap and its proof: which tensors a model took from a run, and that it really did."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from headstart.errors import RunError
from headstart.models.model import Model

TRUNK = "trunk."
HEAD = "head."
Fate = Literal["loaded", "fitted", "new"]


@dataclass(frozen=True, kw_only=True)
class TensorFate:
    """What became of one tensor of a model."""

    name: str
    shape: tuple[int, ...]
    fate: Fate
    norm_before: float
    """The norm of its first draw."""
    norm_after: float
    """The norm that it begins to learn with."""


@dataclass(frozen=True, kw_only=True)
class HeadSwap:
    """A model's tensors one by one, with the checksum of all that were loaded."""

    tensors: tuple[TensorFate, ...]
    loaded_sha256: str
    """Of the loaded tensors as the model holds them, equal to that of the run's."""


def swap_head(
    model: Model[Any, Any], run_tensors: Mapping[str, Tensor], fresh_layers: Iterable[str] = ()
) -> HeadSwap:
    """Loads a run's trunk under a model's head, and proves that it is the same trunk.

    Tensors of `fresh_layers`, named by how they begin, keep their first draw. Those of a head that
    was fitted to the trunk beforehand are loaded too, where they are among the tensors.
    """
    drawn = tuple(fresh_layers)
    ours = dict(model.named_parameters())
    wanted = [name for name in ours if name.startswith(TRUNK) and not name.startswith(drawn)]
    require_fitting(ours, run_tensors, wanted)
    fitted = [name for name in ours if name.startswith(HEAD) and name in run_tensors]
    norms_before = {name: norm_of(weights) for name, weights in ours.items()}
    with torch.no_grad():
        for name in (*wanted, *fitted):
            ours[name].copy_(run_tensors[name])
    seen, expected = (tensors_sha256(tensors, wanted) for tensors in (ours, run_tensors))
    if seen != expected:
        odd = next(name for name in wanted if not is_same(ours[name], run_tensors[name]))
        raise RunError(
            f"The trunk did not load: the tensor {odd} is not the run's, and all {len(wanted)} "
            f"have the checksum {seen[:12]} where the run's have {expected[:12]}. Restore the run "
            "from a copy."
        )
    fate_of: dict[str, Fate] = dict.fromkeys(wanted, "loaded")
    fate_of |= dict.fromkeys(fitted, "fitted")
    fates = tuple(
        TensorFate(
            name=name,
            shape=tuple(weights.shape),
            fate=fate_of.get(name, "new"),
            norm_before=norms_before[name],
            norm_after=norm_of(weights),
        )
        for name, weights in ours.items()
    )
    return HeadSwap(tensors=fates, loaded_sha256=seen)


def require_fitting(
    ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor], wanted: Iterable[str]
) -> None:
    """Raises an error for the first tensor that one of them lacks, or has in another shape."""
    for name in wanted:
        if name not in theirs:
            raise RunError(
                f"The run has no tensor {name}, so its trunk is not of this recipe's kind. Leave "
                "--recipe out, so that the run's own is taken."
            )
        shape, other = tuple(ours[name].shape), tuple(theirs[name].shape)
        if shape != other:
            remedy = "Take the tokenizer of the run" if "tokens" in name else "Take its own recipe"
            raise RunError(
                f"The tensor {name} is {show(other)} in the run, but this recipe needs "
                f"{show(shape)}. {remedy}: leave --recipe and --tokenizer out."
            )
        if not theirs[name].isfinite().all():
            raise RunError(
                f"The tensor {name} of the run holds a value that is no number. Go on from an "
                "earlier run."
            )
    unused = next((name for name in theirs if name.startswith(TRUNK) and name not in ours), None)
    if unused is not None:
        raise RunError(
            f"The run's trunk has the tensor {unused}, for which this recipe has no place. Leave "
            "--recipe out, so that the run's own is taken."
        )


def tensors_sha256(tensors: Mapping[str, Tensor], names: Iterable[str]) -> str:
    """Returns the SHA-256 of named tensors as single-precision numbers, in the order of names."""
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(name.encode())
        values = tensors[name].detach().cpu().float().contiguous().view(-1)
        digest.update(values.view(torch.uint8).numpy().data)
    return digest.hexdigest()


def is_same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are the same single-precision numbers, bit for bit."""
    return tensors_sha256({"": one}, [""]) == tensors_sha256({"": other}, [""])


def trunk_sha256(tensors: Mapping[str, Tensor]) -> str:
    """Returns the checksum by which a trunk is known, whatever head stands on it."""
    return tensors_sha256(tensors, [name for name in tensors if name.startswith(TRUNK)])


def norm_of(tensor: Tensor) -> float:
    """Returns the Euclidean norm of all of a tensor's values."""
    return float(tensor.detach().float().norm())


def show(shape: tuple[int, ...]) -> str:
    """Returns a shape as people write it."""
    return " x ".join(f"{size:,}" for size in shape)
