"""Which pieces of a text carried a classifier's decision.

Legend: P points, T positions, D width, C labels.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from headstart.evaluation.integrated_gradients import Shares, Way, integrated_gradients
from headstart.models.inputs import Text
from headstart.models.inspection import given_vectors, given_weights
from headstart.objectives.labels import Classifier, TextRows, window_shares


def attribute(
    model: Classifier, rows: TextRows, blanks: Sequence[Sequence[int]], scale_C: Tensor
) -> Shares:
    """Shares out among the vectors of a text what it adds to the answer for its blanks.

    The answer is the sum of the logits, each times its scale. Blanks are the same rows with what
    says nothing in the place of each piece that is to be judged.
    """
    # A text's logits are the average of its windows', so that each window can go its own way.
    (share_B,) = window_shares([rows])
    ways = [
        window_way(model, row, blank, scale_C * share)
        for row, blank, share in zip(rows, blanks, share_B.tolist(), strict=True)
    ]
    with given_weights(model):
        return integrated_gradients(ways)


def window_way(model: Classifier, row: Sequence[int], blank: Sequence[int], scale_C: Tensor) -> Way:
    """Returns the way from the vectors of a blank row to those of a text."""
    table = model.trunk.embedding.tokens
    device = table.weight.device
    token_T = torch.tensor(row, device=device)

    def answer(points_PTD: Tensor) -> Tensor:
        text = Text(token_T.expand(len(points_PTD), -1))
        with given_vectors(model.trunk, points_PTD):
            logits_PC = model.head(model.trunk(text), text)
        answer_P: Tensor = logits_PC @ scale_C.to(logits_PC)
        return answer_P

    with torch.no_grad():
        start_TD, end_TD = table(torch.tensor(blank, device=device)), table(token_T)
    return Way(function=answer, start=start_TD, end=end_TD)


def margin_scale(label: int, num_labels: int, temperature: float) -> Tensor:
    """Returns what makes of logits how far a label is above the mean of the others. Shape (C,).

    What all labels gain alike changes no probability, and so it counts for nothing here. Of two
    labels this is the logarithm of their odds.
    """
    scale_C = torch.full((num_labels,), -1 / (num_labels - 1))
    scale_C[label] = 1
    return scale_C / temperature
