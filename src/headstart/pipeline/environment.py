"""What a run's numbers depend on beside its recipe: versions, threads, instruction set."""

import platform
from collections.abc import Iterator, Mapping

import numpy as np
import torch

from headstart import __version__
from headstart.models.kernels.library import threaded_kernels

# With it dropout draws otherwise, which is more than a matter of rounding.
COMPILED_CODE = "compiled code"


def environment(device: str) -> dict[str, str]:
    """Returns everything that can change the last bit of a sum."""
    is_gpu = device.startswith("cuda")
    found = {
        "headstart": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "device": torch.cuda.get_device_name(device) if is_gpu else platform.machine(),
        "threads": str(torch.get_num_threads()),
        "instruction set": torch.backends.cpu.get_cpu_capability(),
    }
    # A GPU does without.
    if not is_gpu:
        found[COMPILED_CODE] = "used" if threaded_kernels() is not None else "not used"
    return found


def differences(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Yields a sentence for each thing that is not what it was."""
    for name in now:
        old, new = then.get(name, "unknown"), now.get(name, "unknown")
        if old != new:
            yield (
                f"The {name} was {old} and is now {new}: the run goes on, but "
                f"{consequence_of(name)}."
            )


def consequence_of(name: str) -> str:
    """Returns what comes of it that something is not what it was."""
    if name == COMPILED_CODE:
        return "other numbers may be dropped from here on than in an uninterrupted run"
    return "its numbers may differ in the last bits from those of an uninterrupted run"
