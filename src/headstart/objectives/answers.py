"""The losses that objectives share: about pieces, and about pairs of sentences.

Legend: B rows, T positions, D width, N positions of all rows, M answered positions, P pairs of
sentences.
"""

import torch.nn.functional as F
from torch import Tensor

from headstart.models.heads.language import LanguageHead
from headstart.models.heads.next_sentence import NextSentenceHead
from headstart.models.inputs import Text
from headstart.objectives.batch import Batch
from headstart.objectives.objective import HeadLoss


def piece_loss(head: LanguageHead, hidden_BTD: Tensor, batch: Batch, head_loss: HeadLoss) -> Tensor:
    """Returns the summed loss about pieces; logits exist for the answered positions only."""
    answered_MD = answered_vectors(hidden_BTD, batch.answered_M)
    return head_loss(answered_MD, head.weight, head.bias, batch.target_M)


def answered_vectors(hidden_BTD: Tensor, answered_M: Tensor | None) -> Tensor:
    """Returns the vectors behind which something is asked, given their places in order. (M, D)."""
    hidden_ND = hidden_BTD.flatten(0, 1)
    # Each place is there once: as many as there are positions are all of them.
    if answered_M is None or len(answered_M) == len(hidden_ND):
        return hidden_ND
    # The gradient of plain indexing sorts the places first, in case one was there twice.
    return hidden_ND.index_select(0, answered_M)


def next_logits(head: NextSentenceHead, hidden_BTD: Tensor, first_P: Tensor) -> Tensor:
    """Returns what is thought of each pair, judged by the vector of its first piece."""
    # Pairs are packed side by side; to the head each is a text of its own, one vector long.
    first_P1D = hidden_BTD.flatten(0, 1)[first_P][:, None]
    logits_P2: Tensor = head(first_P1D, Text(first_P[:, None]))
    return logits_P2


def next_loss(head: NextSentenceHead, hidden_BTD: Tensor, batch: Batch) -> Tensor:
    """Returns the summed loss about whether sentences follow each other."""
    assert batch.first_P is not None
    assert batch.follows_P is not None
    logits_P2 = next_logits(head, hidden_BTD, batch.first_P)
    return F.cross_entropy(logits_P2, batch.follows_P, reduction="sum")
