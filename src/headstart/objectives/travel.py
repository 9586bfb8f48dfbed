"""Batches on their way to a device."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def moved(tensor: Tensor, device: str) -> Tensor:
    """Returns a tensor on a device; to a GPU it travels while that works on the step before."""
    # Only pinned memory travels by itself.
    return tensor if device == "cpu" else tensor.pin_memory().to(device, non_blocking=True)


def array_moved(values: NDArray[np.generic], device: str) -> Tensor:
    """Returns an array as a tensor on a device."""
    return moved(torch.from_numpy(np.ascontiguousarray(values)), device)
