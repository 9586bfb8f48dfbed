"""Texts to the vectors by which a classifier judges them: rows of like length, or one by one.

Legend: N texts, R rows, D width.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise

import numpy as np
import torch
from torch import Tensor

from headstart.models.heads.label import LabelHead
from headstart.models.single_row import SingleRow
from headstart.objectives.labels import Classifier, TextRows, to_label_batch, window_shares
from headstart.pipeline.learner import ShouldStop, never, require_going_on

# Positions of one batch, padding included: more gain nothing on a processor, whose cache they fill;
# a GPU is hardly warm with fewer.
NUM_POSITIONS_PER_BATCH = {"cpu": 4_096, "cuda": 65_536}
# Rows that a thread reads one by one before it asks for more, where there are enough for all.
NUM_ROWS_PER_TURN = 16


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
    return joined(vector_RD, texts)


@torch.inference_mode()
def text_vectors_one_by_one(
    head: LabelHead,
    single_row: SingleRow,
    texts: Sequence[TextRows],
    should_stop: ShouldStop = never,
) -> Tensor:
    """Returns the same from a trunk made ready for single rows, on several threads. Shape (N, D).

    No row is padded, and none is read otherwise for what stands beside it.
    """
    rows = list(chain.from_iterable(texts))
    if len(rows) == 1:
        return head.read_row(single_row, torch.tensor(rows[0], device="cpu"))
    # Long ones first, so that no thread begins one when the others are done.
    order = sorted(range(len(rows)), key=lambda place: -len(rows[place]))
    num_threads = torch.get_num_threads()
    num_rows = min(NUM_ROWS_PER_TURN, -(-len(order) // num_threads))
    turns = [order[begin : begin + num_rows] for begin in range(0, len(order), num_rows)]

    @torch.inference_mode()
    def read(turn: list[int]) -> Tensor:
        return torch.cat(
            [head.read_row(single_row, torch.tensor(rows[place], device="cpu")) for place in turn]
        )

    width = head.output.in_features
    vector_RD = torch.empty(len(rows), width, dtype=torch.float32, device="cpu")
    threads = ThreadPoolExecutor(num_threads)
    try:
        for turn, found in zip(turns, threads.map(read, turns), strict=True):
            require_going_on(should_stop)
            vector_RD[turn] = found
    finally:
        threads.shutdown(cancel_futures=True)
    return joined(vector_RD, texts)


def joined(vector_RD: Tensor, texts: Sequence[TextRows]) -> Tensor:
    """Returns one vector for each text, out of those of its rows. Shape (N, D)."""
    if len(vector_RD) == len(texts):
        return vector_RD
    ends = np.cumsum([0, *map(len, texts)]).tolist()
    # A sum and no product, which would be rounded where products are done in half precision.
    means = [
        (window_shares([text]).to(vector_RD).T * vector_RD[begin:end]).sum(0, keepdim=True)
        for text, (begin, end) in zip(texts, pairwise(ends), strict=True)
    ]
    return torch.cat(means)


def batches(lengths: Sequence[int], num_positions: int) -> Iterator[range]:
    """Yields the places of rows, sorted by length, that a batch has room for once padded."""
    begin = 0
    for place, length in enumerate(lengths):
        if place > begin and length * (place - begin + 1) > num_positions:
            yield range(begin, place)
            begin = place
    if lengths:
        yield range(begin, len(lengths))
