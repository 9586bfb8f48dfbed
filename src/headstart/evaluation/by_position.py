"""How well a model does at each position of a text, also beyond the length it was trained at.

Legend: B rows, T positions, M answered positions.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headstart.evaluation.language import answered_losses
from headstart.models.model import Model
from headstart.objectives.batch import Batch

# Stretches of positions whose losses are averaged: enough to see a trend, few enough to see it.
NUM_STRETCHES = 32


@dataclass(frozen=True, kw_only=True)
class PositionScores:
    """The loss of texts of one length, as a whole and by stretches of positions."""

    length: int
    loss: float
    places: tuple[int, ...]
    """The middle of each stretch."""
    losses: tuple[float, ...]


@torch.no_grad()
def score_positions(
    model: Model[Any, Any], batches: Iterable[Batch], length: int
) -> PositionScores:
    """Returns the losses of texts of one length by where in the text they fell."""
    was_training = model.training
    model.eval()
    nats, counts = np.zeros(length), np.zeros(length)
    for batch in batches:
        losses_M = answered_losses(model, model.trunk(batch.text), batch).double().cpu().numpy()
        places_M = (batch.answered_M % batch.text.tokens_BT.shape[1]).cpu().numpy()
        np.add.at(nats, places_M, losses_M)
        np.add.at(counts, places_M, 1)
    model.train(was_training)
    return in_stretches(nats, counts)


def in_stretches(nats: NDArray[np.float64], counts: NDArray[np.float64]) -> PositionScores:
    """Returns means over stretches of positions; stretches that were never asked have none."""
    length = len(nats)
    starts = np.unique(np.linspace(0, length, NUM_STRETCHES, endpoint=False).astype(int))
    sums, numbers = np.add.reduceat(nats, starts), np.add.reduceat(counts, starts)
    ends = np.append(starts[1:], length)
    is_asked = numbers > 0
    return PositionScores(
        length=length,
        loss=float(nats.sum() / max(1, counts.sum())),
        places=tuple(((starts + ends) // 2)[is_asked].tolist()),
        losses=tuple((sums[is_asked] / numbers[is_asked]).tolist()),
    )
