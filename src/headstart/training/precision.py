"""In which precision matrix products are done; all else stays in single."""

import contextlib
from collections.abc import Iterator

import torch

from headstart.training.config import Precision


@contextlib.contextmanager
def products_in(precision: Precision, device: str) -> Iterator[None]:
    """Has matrix products on a device done in a precision."""
    if precision == "fp32":
        yield
        return
    with torch.autocast(device.partition(":")[0], dtype=torch.bfloat16):
        yield
