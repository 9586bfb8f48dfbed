"""Which part of a trunk learns when, and how fast: layer-wise rates and gradual unfreezing."""

from typing import Any

from headstart.models.model import Model
from headstart.training.optimiser import RateShares

LAYERS, EMBEDDING, HEAD = "trunk.layers.", "trunk.embedding.", "head."


def depth_of(name: str, num_layers: int) -> int:
    """Returns how many layers lie above a parameter: 0 for the head and the last norm.

    The topmost layer is at depth 1, the embedding below all of them.
    """
    if name.startswith(LAYERS):
        return num_layers - int(name.removeprefix(LAYERS).split(".")[0])
    return num_layers + 1 if name.startswith(EMBEDDING) else 0


def layer_rates(num_layers: int, decay: float) -> RateShares:
    """Returns for each parameter its share of the rate: the deeper, the smaller."""
    return lambda name: float(decay ** depth_of(name, num_layers))


def fresh_names(num_layers: int, num_fresh: int) -> tuple[str, ...]:
    """Returns how the names of the topmost layers begin, those that are drawn anew."""
    return tuple(f"{LAYERS}{index}." for index in range(num_layers - num_fresh, num_layers))


def thawed_depth(epoch: int, num_epochs: int, num_layers: int) -> int:
    """Returns down to which depth a gradual transfer learns in an epoch, counted from 0.

    The head learns alone first; all of the trunk has joined it when half of the epochs are over.
    """
    num_parts = num_layers + 1
    return min(num_parts, epoch * num_parts // epochs_to_thaw(num_epochs))


def epochs_to_thaw(num_epochs: int) -> int:
    """Returns after how many epochs all of a gradual transfer learns."""
    return max(1, num_epochs // 2)


def thaw(model: Model[Any, Any], depth: int) -> None:
    """Lets the parameters down to a depth learn, and no others."""
    num_layers = len(model.trunk.layers)
    for name, weights in model.named_parameters():
        weights.requires_grad_(depth_of(name, num_layers) <= depth)


def freeze_trunk(model: Model[Any, Any]) -> None:
    """Lets only the head learn."""
    model.trunk.requires_grad_(requires_grad=False)
