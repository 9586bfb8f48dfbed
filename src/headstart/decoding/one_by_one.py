"""The loop of every strategy that takes one piece for each row and never looks back.

Legend: B rows still being written, V pieces.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import compress, count

import torch
from torch import Tensor

from headstart.decoding.strategy import Hypotheses, Hypothesis, Limits, NextToken
from headstart.models.inputs import Text

Choose = Callable[[Tensor, int, Sequence[int]], Tensor]
"""From logits (B, V), the number of the piece within its text, and that of each row: a piece."""


@dataclass
class Row:
    """A text that is being written."""

    number: int
    num_pieces: int
    """The most that it may have."""
    ids: list[int] = field(default_factory=list)
    log_probability: float = 0.0

    def hypothesis(self, *, has_ended: bool) -> Hypothesis:
        """Returns what has been written as it is now."""
        return Hypothesis(
            ids=tuple(self.ids), log_probability=self.log_probability, has_ended=has_ended
        )


def decode_one_by_one(
    next_token: NextToken, prefix: Text, limits: Limits, choose: Choose
) -> Hypotheses:
    """Writes each row until it ends or is full; a row that has ended leaves the batch."""
    most_by_row = limits.most_pieces(len(prefix.tokens_BT))
    rows = [Row(number, most) for number, most in enumerate(most_by_row)]
    written: dict[int, Hypothesis] = {}
    logits_BV = next_token.start(prefix)
    for position in count():
        token_B = choose(allowed(logits_BV, limits), position, [row.number for row in rows])
        has_ended = take(rows, token_B, logits_BV, limits.end_id)
        goes_on = []
        for row, ended in zip(rows, has_ended, strict=True):
            goes_on.append(not ended and len(row.ids) < row.num_pieces)
            if not goes_on[-1]:
                written[row.number] = row.hypothesis(has_ended=ended)
        if not any(goes_on):
            break
        row_B = None
        if not all(goes_on):
            rows = list(compress(rows, goes_on))
            row_B = torch.tensor(goes_on, device=token_B.device).nonzero()[:, 0]
            token_B = token_B[row_B]
        logits_BV = next_token.follow(token_B, row_B)
    return [[written[number]] for number in sorted(written)]


def allowed(logits_BV: Tensor, limits: Limits) -> Tensor:
    """Returns the logits with no chance for what must never be written."""
    if not limits.forbidden_ids:
        return logits_BV
    forbidden = torch.tensor(limits.forbidden_ids, device=logits_BV.device)
    return logits_BV.index_fill(1, forbidden, -torch.inf)


def take(rows: Sequence[Row], token_B: Tensor, logits_BV: Tensor, end_id: int) -> list[bool]:
    """Writes the chosen piece into each row, and says which rows have ended with it."""
    log_probability_BV = logits_BV.float().log_softmax(dim=1)
    chosen_B = log_probability_BV.gather(1, token_B[:, None])[:, 0].tolist()
    has_ended = []
    for row, token, log_probability in zip(rows, token_B.tolist(), chosen_B, strict=True):
        row.log_probability += log_probability
        has_ended.append(token == end_id)
        if token != end_id:
            row.ids.append(token)
    return has_ended
