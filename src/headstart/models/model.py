"""A model is a trunk and a head; to swap the head, build another model on the same trunk."""

from typing import Generic, TypeVar

from torch import Tensor, nn

from headstart.models.heads.config import (
    HeadConfig,
    LabelHeadConfig,
    LanguageHeadConfig,
    ModelConfig,
)
from headstart.models.heads.label import LabelHead
from headstart.models.heads.language import LanguageHead
from headstart.models.heads.next_sentence import (
    LanguageAndNextHead,
    LanguageAndNextLogits,
    NextSentenceHead,
)
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.trunks import EncoderDecoder, Trunk, new_trunk, written_embedding

AnyTrunk = Trunk | EncoderDecoder
Head = LanguageHead | LabelHead | NextSentenceHead | LanguageAndNextHead
TrunkKind = TypeVar("TrunkKind", bound=AnyTrunk)
HeadKind = TypeVar("HeadKind", bound=Head)


class Model(nn.Module, Generic[TrunkKind, HeadKind]):
    """A trunk with the head that answers for it; the trunk is held, never copied."""

    def __init__(self, trunk: TrunkKind, head: HeadKind) -> None:
        super().__init__()
        self.trunk = trunk
        self.head = head

    def forward(self, inputs: Text | SourceAndTarget) -> Tensor | LanguageAndNextLogits:
        """Returns the head's answer about a text, or about the target of a pair."""
        written = inputs.target if isinstance(inputs, SourceAndTarget) else inputs
        answer: Tensor | LanguageAndNextLogits = self.head(self.trunk(inputs), written)
        return answer


def language_head(model: Model[AnyTrunk, Head]) -> LanguageHead:
    """Returns the part of a model's head that scores pieces."""
    head = model.head
    found = head.language if isinstance(head, LanguageAndNextHead) else head
    assert isinstance(found, LanguageHead)
    return found


def new_head(config: HeadConfig, trunk: AnyTrunk) -> Head:
    """Returns a head that fits the trunk, with first weights still to be set."""
    if isinstance(config, LabelHeadConfig):
        return LabelHead(config, trunk.config.width)
    if isinstance(config, LanguageHeadConfig):
        return LanguageHead(config, written_embedding(trunk))
    return LanguageAndNextHead(config, written_embedding(trunk))


def new_model(config: ModelConfig) -> Model[AnyTrunk, Head]:
    """Returns a trunk and its head as configured, with first weights still to be set."""
    trunk = new_trunk(config.trunk)
    return Model(trunk, new_head(config.head, trunk))
