"""The tensors of a training state: by groups, as copies, and whether all are numbers."""

from collections.abc import Iterator

from torch import Tensor

from headstart.checkpoints.checkpoint import Groups, size_of
from headstart.errors import DivergedError
from headstart.training.loop import TrainingState


def groups_of(state: TrainingState) -> Iterator[tuple[str, dict[str, Tensor]]]:
    """Yields the tensors that a state consists of, in groups."""
    yield "weights", weights_of(state)
    yield "optimiser", dict(state.optimiser.tensors())
    if state.average is not None:
        yield "average", state.average.tensors


def require_numbers(step: int, groups: Groups) -> None:
    """Raises an error for a tensor that is infinite or none somewhere, before it is kept."""
    for group, tensors in groups.items():
        for name, tensor in tensors.items():
            if not tensor.isfinite().all():
                raise DivergedError(
                    f"After step {step:,} a value in {name} ({group}) is no number; that was not "
                    "kept. Go on from the last checkpoint, or begin again with a lower learning "
                    "rate."
                )


def weights_of(state: TrainingState) -> dict[str, Tensor]:
    """Returns the learned weights by name; a tied matrix has one."""
    return {name: weights.detach() for name, weights in state.model.named_parameters()}


def best_weights(state: TrainingState) -> dict[str, Tensor]:
    """Returns a copy of the weights that were just validated, out of the device's memory."""
    tensors = weights_of(state) if state.average is None else state.average.tensors
    return {name: tensor.to("cpu", copy=True) for name, tensor in tensors.items()}


def planned_bytes(state: TrainingState, num_sets: int) -> int:
    """Returns about how many bytes a checkpoint will take: weights, two moments, other sets."""
    num_copies = 3 + num_sets + (state.average is not None)
    return num_copies * size_of({"weights": weights_of(state)})
