"""What a run's numbers depend on beside its recipe: versions, threads, instruction set."""

import platform
from collections.abc import Iterator, Mapping

import numpy as np
import torch

from headstart import __version__
from headstart.models.kernels.library import threaded_kernels


def environment(device: str) -> dict[str, str]:
    """Returns everything that can change the last bit of a sum."""
    is_gpu = device.startswith("cuda")
    return {
        "headstart": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "device": torch.cuda.get_device_name(device) if is_gpu else platform.machine(),
        "threads": str(torch.get_num_threads()),
        "instruction set": torch.backends.cpu.get_cpu_capability(),
        "compiled code": "used" if threaded_kernels() is not None else "not used",
    }


def differences(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Yields a sentence for each thing that is not what it was."""
    for name in now:
        old, new = then.get(name, "unknown"), now.get(name, "unknown")
        if old != new:
            yield (
                f"The {name} was {old} and is now {new}: the run goes on, but its numbers may "
                "differ in the last bits from those of an uninterrupted run."
            )
