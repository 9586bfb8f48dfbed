"""Numbers on their way from a GPU to the processor, which goes on meanwhile."""

import torch
from torch import Tensor


class LateValues:
    """The values of a step, copied as soon as they are there, and waited for when they are read."""

    def __init__(self, value_V: Tensor) -> None:
        # A recorded step writes its values to the same place again.
        if not value_V.is_cuda:
            self._value_V, self._is_there = value_V.clone(), None
            return
        self._value_V = torch.empty(value_V.shape, dtype=value_V.dtype, pin_memory=True)
        self._value_V.copy_(value_V, non_blocking=True)
        self._is_there = torch.cuda.Event()  # type: ignore[no-untyped-call]  # PyTorch's own
        self._is_there.record()

    def read(self) -> list[float]:
        """Waits for the values, and returns them."""
        if self._is_there is not None:
            self._is_there.synchronize()
        values: list[float] = self._value_V.tolist()
        return values
