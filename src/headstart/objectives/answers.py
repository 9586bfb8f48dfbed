"""The losses that objectives share: about pieces, and about pairs of sentences.

Legend: B rows, T positions, D width, M answered positions, P pairs of sentences.
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
    answered_MD = hidden_BTD.flatten(0, 1)[batch.answered_M]
    return head_loss(answered_MD, head.weight, head.bias, batch.target_M)


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
