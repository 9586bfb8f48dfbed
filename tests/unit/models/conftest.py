"""What a model learns by: certain compiled kernels for a while, and what they drop."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from math import prod
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from headstart.models.kernels import library
from headstart.models.learned_dropout import Dropping


@pytest.fixture(scope="session")
def by_kernels() -> Callable[[Any], AbstractContextManager[None]]:
    """Has what learns be done by certain kernels for a while; None leaves all to PyTorch."""

    @contextmanager
    def done_by(kernels: Any) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(library, "compiled_kernels", lambda: kernels)
            yield

    return done_by


def scrambled(number: np.ndarray) -> np.ndarray:
    """Returns bits that look drawn, in numpy's own words."""
    number = number ^ (number >> np.uint32(16))
    number = number * np.uint32(0x21F0AAAD)
    number = number ^ (number >> np.uint32(15))
    number = number * np.uint32(0xD35A2D97)
    return number ^ (number >> np.uint32(15))


@pytest.fixture(scope="session")
def factors_by_hash() -> Callable[[Dropping, tuple[int, ...]], Tensor]:
    """What each number is multiplied by: 0, or what makes up for those."""

    def factors(dropping: Dropping, shape: tuple[int, ...]) -> Tensor:
        low, high = (np.uint32(dropping.seed >> shift & 0xFFFFFFFF) for shift in (0, 32))
        place = np.arange(prod(shape), dtype=np.uint32)
        is_kept = scrambled(scrambled(place + low) ^ high) >= dropping.lowest_kept
        return torch.from_numpy(is_kept.reshape(shape)) * dropping.kept_factor

    return factors
