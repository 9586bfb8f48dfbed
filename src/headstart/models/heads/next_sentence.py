"""Whether the second sentence of a pair really followed the first, alone and beside hidden pieces.

Legend: B batch, T positions, D width, V pieces, 2 answers: follows, does not.
"""

from typing import NamedTuple

from torch import Tensor, nn

from headstart.models.heads.config import LabelHeadConfig, LanguageAndNextHeadConfig
from headstart.models.heads.label import LabelHead
from headstart.models.heads.language import LanguageHead
from headstart.models.inputs import Text

FIRST_VECTOR = LabelHeadConfig(num_labels=2, pooling="first")


class NextSentenceHead(nn.Module):
    """Judges a pair by its first vector, through one hidden layer as BERT's pooler has."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width)
        # A label head for its pooling and its small first weights.
        self.judge = LabelHead(FIRST_VECTOR, width)

    def forward(self, hidden_BTD: Tensor, text: Text) -> Tensor:
        """Returns the logits of "follows" and "does not". Shape (B, 2)."""
        pooled_BD = self.inner(self.judge.pool(hidden_BTD, text)).tanh()
        logits_B2: Tensor = self.judge.output(pooled_BD)
        return logits_B2


class LanguageAndNextLogits(NamedTuple):
    """The two answers of BERT's pretraining."""

    language_BTV: Tensor
    next_sentence_B2: Tensor


class LanguageAndNextHead(nn.Module):
    """BERT's pair of heads on one trunk."""

    def __init__(self, config: LanguageAndNextHeadConfig, embedding: nn.Embedding) -> None:
        super().__init__()
        self.config = config
        self.language = LanguageHead(config.language, embedding)
        self.next_sentence = NextSentenceHead(embedding.embedding_dim)

    def forward(self, hidden_BTD: Tensor, text: Text) -> LanguageAndNextLogits:
        """Returns the logits of both questions."""
        return LanguageAndNextLogits(
            self.language(hidden_BTD, text), self.next_sentence(hidden_BTD, text)
        )
