"""The most probable piece, each time. Legend: B rows, V pieces."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from headstart.decoding.one_by_one import decode_one_by_one
from headstart.decoding.strategy import Hypotheses, Limits, NextToken
from headstart.models.inputs import Text


@dataclass(frozen=True)
class Greedy:
    """Takes the most probable piece: always the same text, and often one that goes in circles."""

    def decode(self, next_token: NextToken, prefix: Text, limits: Limits) -> Hypotheses:
        """Returns one hypothesis for each prefix."""
        return decode_one_by_one(next_token, prefix, limits, most_probable)


def most_probable(logits_BV: Tensor, _position: int, _rows: Sequence[int]) -> Tensor:
    """Returns the piece with the highest logit in each row."""
    return logits_BV.argmax(dim=1)
