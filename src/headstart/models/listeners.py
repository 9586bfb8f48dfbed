"""Whether a part has to be called as it is: somebody listens, or has put a call in its place."""

import torch
from torch import nn


def is_heard(part: nn.Module) -> bool:
    """Whether something is called with what a part reads or returns, or instead of it."""
    return bool(
        part._forward_hooks
        or part._forward_pre_hooks
        or part._backward_hooks
        or part._backward_pre_hooks
        or "forward" in vars(part)
    )


def is_heard_everywhere() -> bool:
    """Whether something is called with what every part reads or returns."""
    return bool(torch.nn.modules.module._has_any_global_hook())  # type: ignore[no-untyped-call]
