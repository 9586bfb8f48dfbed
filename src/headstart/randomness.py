"""Every draw as a function of a seed and a purpose, never of what was drawn before.

Two parts of a program that draw for different purposes cannot disturb each other, and a draw can
be repeated without repeating its past: that is what makes a resumed run equal an uninterrupted one.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

# Generators take signed 64-bit seeds; 63 bits fit every one of them.
NUM_SEED_BITS = 63


def derive_seed(seed: int, *purpose: str | int) -> int:
    """Returns a seed for one purpose, such as `derive_seed(seed, "order", epoch)`."""
    key = json.dumps([seed, *purpose]).encode()
    return int.from_bytes(hashlib.sha256(key).digest()[:8], "big") >> (64 - NUM_SEED_BITS)


def torch_generator(
    seed: int, *purpose: str | int, device: torch.device | str = "cpu"
) -> torch.Generator:
    """Returns a fresh PyTorch generator for one purpose."""
    import torch

    return torch.Generator(device=device).manual_seed(derive_seed(seed, *purpose))
