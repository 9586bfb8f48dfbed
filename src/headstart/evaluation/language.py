"""How well a model knows a language: loss, perplexity and bits for each byte on held-out text.

Legend: M answered positions, P pairs of sentences.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from headstart.models.model import Model, language_head
from headstart.objectives.answers import next_logits
from headstart.objectives.batch import Batch
from headstart.objectives.vocabulary_loss.chunked import position_losses


@dataclass(frozen=True, kw_only=True)
class LanguageScores:
    """What held-out text cost, piece by piece, and how often next-sentence was right."""

    loss: float
    """Nats for each answered piece."""
    num_pieces: int
    bits_per_byte: float
    next_loss: float | None = None
    next_accuracy: float | None = None
    num_pairs: int = 0

    @property
    def perplexity(self) -> float:
        """Among how many equally likely pieces the model is as unsure as it was."""
        return math.exp(min(self.loss, 700.0))

    @property
    def total(self) -> float:
        """What training minimises: the sum of the losses."""
        return self.loss + (self.next_loss or 0.0)

    def as_json(self) -> dict[str, object]:
        """Returns the scores by name, with what follows from them."""
        return asdict(self) | {"total": self.total, "perplexity": self.perplexity}


class LanguageTally:
    """Adds up the answers of a model over batches of held-out text."""

    def __init__(self) -> None:
        self.piece_nats = self.next_nats = 0.0
        self.num_pieces = self.num_pairs = self.num_right = 0

    @torch.no_grad()
    def add(self, model: Model[Any, Any], batch: Batch) -> None:
        """Takes in one batch."""
        hidden_BTD = model.trunk(batch.text)
        losses_M = answered_losses(model, hidden_BTD, batch)
        # Doubles, so that the sum over a large text does not depend on how it was cut.
        self.piece_nats += float(losses_M.double().sum())
        self.num_pieces += len(losses_M)
        if batch.first_P is not None and batch.follows_P is not None:
            logits_P2 = next_logits(model.head.next_sentence, hidden_BTD, batch.first_P).float()
            losses_P = torch.nn.functional.cross_entropy(
                logits_P2, batch.follows_P, reduction="none"
            )
            self.next_nats += float(losses_P.double().sum())
            self.num_right += int((logits_P2.argmax(dim=-1) == batch.follows_P).sum())
            self.num_pairs += len(losses_P)

    def scores(self, pieces_per_byte: float) -> LanguageScores:
        """Returns the means; bits are for each byte of the text that the pieces stand for."""
        loss = self.piece_nats / max(1, self.num_pieces)
        return LanguageScores(
            loss=loss,
            num_pieces=self.num_pieces,
            bits_per_byte=loss * pieces_per_byte / math.log(2),
            next_loss=self.next_nats / self.num_pairs if self.num_pairs else None,
            next_accuracy=self.num_right / self.num_pairs if self.num_pairs else None,
            num_pairs=self.num_pairs,
        )


def answered_losses(model: Model[Any, Any], hidden_BTD: Tensor, batch: Batch) -> Tensor:
    """Returns the loss of each answered piece over the whole vocabulary. Shape (M,)."""
    head = language_head(model)
    answered_MD = hidden_BTD.flatten(0, 1)[batch.answered_M]
    return position_losses(answered_MD, head.weight, head.bias, batch.target_M)


def score_language(
    model: Model[Any, Any], batches: Iterable[Batch], pieces_per_byte: float
) -> LanguageScores:
    """Returns a model's scores on held-out text, every answer over the whole vocabulary."""
    was_training = model.training
    model.eval()
    tally = LanguageTally()
    for batch in batches:
        tally.add(model, batch)
    model.train(was_training)
    return tally.scores(pieces_per_byte)
