"""Which label a text has: what a transferred trunk learns.

Legend: B rows, T positions, D width, N texts, C labels.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from headstart.models.heads.label import LabelHead
from headstart.models.inputs import Text
from headstart.models.model import Model
from headstart.models.trunks import Trunk
from headstart.objectives.objective import Loss
from headstart.objectives.travel import moved
from headstart.tokenizers.pieces import PADDING_ID

LABELS = "labels"
# A text as it is read: one row of ids, or several windows.
TextRows = Sequence[Sequence[int]]
Classifier = Model[Trunk, LabelHead]


class AnswerWeights(NamedTuple):
    """As how many answers each text of a batch counts, on its device, and all of them together."""

    weight_N: Tensor
    total: float


def answer_weights(weights: Sequence[float] | None, device: str) -> AnswerWeights | None:
    """Returns weights as a batch holds them; None where all texts are alike."""
    if weights is None:
        return None
    return AnswerWeights(moved(torch.tensor(weights), device), math.fsum(weights))


@dataclass(frozen=True, kw_only=True)
class LabelBatch:
    """Texts to be read and judged."""

    text: Text
    share_NB: Tensor | None
    """How much each row says of each text; None where every row is a text of its own."""
    target_N: Tensor
    """The number of each text's label, or how likely it has each. Shape (N,) or (N, C)."""
    names: tuple[str, ...]
    """What each text is called when something is wrong with it."""
    weights: AnswerWeights | None = None
    """None where all texts are alike."""

    @property
    def num_tokens(self) -> int:
        """The positions of all rows, padding included."""
        return self.text.tokens_BT.numel()

    @property
    def counts(self) -> Mapping[str, float]:
        """How many answers are asked for."""
        return {LABELS: len(self.target_N) if self.weights is None else self.weights.total}

    def vectors(self, model: Classifier) -> Tensor:
        """Returns the vector by which each text is judged. Shape (N, D)."""
        pooled_BD = model.head.read(model.trunk, self.text)
        return pooled_BD if self.share_NB is None else self.share_NB.to(pooled_BD.dtype) @ pooled_BD


@dataclass(frozen=True, kw_only=True)
class FeatureBatch:
    """Texts that a frozen trunk has read already."""

    vector_ND: Tensor
    target_N: Tensor
    names: tuple[str, ...]
    weights: AnswerWeights | None = None

    @property
    def num_tokens(self) -> int:
        """The vectors that are judged, each as one."""
        return len(self.vector_ND)

    @property
    def counts(self) -> Mapping[str, float]:
        """How many answers are asked for."""
        return {LABELS: len(self.target_N) if self.weights is None else self.weights.total}

    def vectors(self, _model: Classifier) -> Tensor:
        """Returns the vector by which each text is judged. Shape (N, D)."""
        return self.vector_ND


@dataclass(frozen=True)
class Labels:
    """Finds the label of each text, or how likely it has each; labels may weigh differently."""

    weight_C: Tensor | None = None

    def loss(self, model: Classifier, batch: LabelBatch | FeatureBatch) -> Loss:
        """Returns the loss of all answers, each as often as it counts, summed."""
        logits_NC, target_N = label_logits(model, batch), batch.target_N
        weight_C = None if self.weight_C is None else self.weight_C.to(logits_NC)
        if batch.weights is None:
            total = F.cross_entropy(logits_NC, target_N, weight=weight_C, reduction="sum")
        else:
            loss_N = F.cross_entropy(logits_NC, target_N, weight=weight_C, reduction="none")
            total = (loss_N * batch.weights.weight_N).sum()
        return {LABELS: total}


def label_logits(model: Classifier, batch: LabelBatch | FeatureBatch) -> Tensor:
    """Returns the score of each label for each text. Shape (N, C)."""
    logits_NC: Tensor = model.head.output(batch.vectors(model))
    return logits_NC.float()


def to_label_batch(
    texts: Sequence[TextRows],
    targets: Sequence[int] | NDArray[np.float32],
    names: Sequence[str],
    device: str,
    weights: Sequence[float] | None = None,
    length: int | None = None,
) -> LabelBatch:
    """Returns texts as a batch on a device, padded behind; windows are weighed by their pieces."""
    rows = list(chain.from_iterable(texts))
    longest = max(map(len, rows)) if length is None else length
    tokens_BT = torch.full((len(rows), longest), PADDING_ID)
    for number, row in enumerate(rows):
        tokens_BT[number, : len(row)] = torch.tensor(row)
    length_B1 = torch.tensor([[len(row)] for row in rows])
    is_token_BT = torch.arange(longest) < length_B1
    is_padded = not bool(is_token_BT.all())
    return LabelBatch(
        text=Text(moved(tokens_BT, device), moved(is_token_BT, device) if is_padded else None),
        share_NB=None if len(rows) == len(texts) else moved(window_shares(texts), device),
        target_N=moved(torch.tensor(targets), device),
        names=tuple(names),
        weights=answer_weights(weights, device),
    )


def window_shares(texts: Sequence[TextRows]) -> Tensor:
    """Returns the share of each row in the pieces of its text, 0 in all others. Shape (N, B)."""
    share_NB = torch.zeros(len(texts), sum(map(len, texts)))
    place = 0
    for number, rows in enumerate(texts):
        lengths = torch.tensor([float(len(row)) for row in rows])
        share_NB[number, place : place + len(rows)] = lengths / lengths.sum()
        place += len(rows)
    return share_NB
