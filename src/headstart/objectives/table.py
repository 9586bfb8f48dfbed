"""The objectives by name."""

from collections.abc import Callable, Mapping

from headstart.objectives.causal import Causal
from headstart.objectives.hiding import HidingConfig
from headstart.objectives.masked import Masked
from headstart.objectives.masked_and_next import MaskedAndNext
from headstart.objectives.objective import HeadLoss, Objective
from headstart.tokenizers.tokenizer import Tokenizer

OBJECTIVES: Mapping[str, Callable[[Tokenizer, HeadLoss, HidingConfig], Objective]] = {
    # Nothing is hidden from a causal trunk but what is still to come.
    "causal": lambda _tokenizer, head_loss, _hiding: Causal(head_loss),
    "masked": Masked,
    "masked+next": MaskedAndNext,
}
