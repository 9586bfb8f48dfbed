"""Models whose weights are about to be loaded: nothing is drawn that would be overwritten."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch.overrides import TorchFunctionMode

from headstart.models.heads.config import ModelConfig
from headstart.models.model import AnyTrunk, Head, Model, new_model

# Where PyTorch's modules have their first weights from.
DRAWS = "torch.nn.init"


class WithoutDraws(TorchFunctionMode):
    """Leaves the memory of new weights as it was found, for as long as the block lasts."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        _types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        named = kwargs or {}
        if getattr(func, "__module__", None) == DRAWS:
            return args[0] if args else named["tensor"]
        return func(*args, **named)


def blank_model(config: ModelConfig) -> Model[AnyTrunk, Head]:
    """Returns a model of which every weight must be loaded before it is used."""
    # Drawing millions of numbers takes longer than reading them.
    with WithoutDraws():
        return new_model(config)
