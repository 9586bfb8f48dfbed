"""What held-out translations cost a model, piece by piece, in the true company of each piece."""

from collections.abc import Iterable

import torch

from headstart.objectives.translation import PairBatch, TranslationModel, answer_losses


@torch.no_grad()
def pair_loss(model: TranslationModel, batches: Iterable[PairBatch]) -> tuple[float, int]:
    """Returns the mean loss of all answers, in nats and not smoothed, and how many there were."""
    nats, num_pieces = 0.0, 0
    for batch in batches:
        losses_M = answer_losses(model, batch)
        # Doubles, so that the sum does not depend on how the pairs were cut into batches.
        nats += float(losses_M.double().sum())
        num_pieces += len(losses_M)
    return nats / max(1, num_pieces), num_pieces
