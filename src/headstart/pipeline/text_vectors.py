"""Texts to the vectors by which a classifier judges them, rows of like length together.

Legend: N texts, R rows, D width.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

import numpy as np
import torch
from torch import Tensor

from headstart.objectives.labels import Classifier, TextRows, to_label_batch, window_shares
from headstart.pipeline.learner import ShouldStop, never, require_going_on

# Positions of one batch, padding included: more gain nothing on a processor, whose cache they fill;
# a GPU is hardly warm with fewer.
NUM_POSITIONS_PER_BATCH = {"cpu": 4_096, "cuda": 65_536}


@torch.inference_mode()
def text_vectors(
    model: Classifier, texts: Sequence[TextRows], should_stop: ShouldStop = never
) -> Tensor:
    """Returns one vector for each text, on the model's device. Shape (N, D)."""
    weights = next(model.parameters())
    device = str(weights.device)
    rows = list(chain.from_iterable(texts))
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    vector_RD = torch.empty(len(rows), model.trunk.config.width, device=weights.device)
    num_positions = NUM_POSITIONS_PER_BATCH[weights.device.type]
    for places in batches([len(rows[place]) for place in order], num_positions):
        require_going_on(should_stop)
        chosen = [order[place] for place in places]
        batch = to_label_batch([[rows[place]] for place in chosen], [], [], device)
        vector_RD[chosen] = batch.vectors(model).float()
    if len(rows) == len(texts):
        return vector_RD
    ends = np.cumsum([0, *map(len, texts)]).tolist()
    # A sum and no product, which would be rounded where products are done in half precision.
    joined = [
        (window_shares([text]).to(vector_RD).T * vector_RD[begin:end]).sum(0, keepdim=True)
        for text, (begin, end) in zip(texts, pairwise(ends), strict=True)
    ]
    return torch.cat(joined)


def batches(lengths: Sequence[int], num_positions: int) -> Iterator[range]:
    """Yields the places of rows, sorted by length, that a batch has room for once padded."""
    begin = 0
    for place, length in enumerate(lengths):
        if place > begin and length * (place - begin + 1) > num_positions:
            yield range(begin, place)
            begin = place
    if lengths:
        yield range(begin, len(lengths))
