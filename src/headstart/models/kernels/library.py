"""The compiled kernels, found beside their sources: one file for each kind of processor."""

import ctypes
import logging
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headstart.models.kernels.attention import declare_attention
from headstart.models.kernels.residual import declare_residual
from headstart.models.kernels.rows import declare_rows

# The processors that they are built for, as PyTorch names them, and the name of each one's file.
FILES = {"AVX512": "kernels.avx512.so", "AVX2": "kernels.avx2.so"}


@cache
def compiled_kernels() -> Any | None:
    """Returns the compiled functions; None where there are none, with one line that says so."""
    capability = torch.backends.cpu.get_cpu_capability()
    try:
        if capability not in FILES:
            raise OSError(f"there are none for processors of the kind {capability}")
        return load_kernels(Path(__file__).with_name(FILES[capability]))
    except (OSError, AttributeError) as error:  # not built, or before they had what is asked for
        logging.getLogger(__name__).info("PyTorch does without compiled kernels: %s", error)
        return None


def load_kernels(path: Path) -> Any:
    """Returns the functions of one file, with what each takes and returns."""
    library = ctypes.CDLL(str(path))
    if not all(declare(library) for declare in (declare_rows, declare_attention, declare_residual)):
        raise OSError(f"{path} was built from another version; install the package again")
    return library


def serves_learning(hidden: Tensor) -> bool:
    """Whether something is learned from vectors in a way that compiled kernels know."""
    is_plain = hidden.device.type == "cpu" and hidden.dtype == torch.float32
    is_half = torch.is_autocast_enabled("cpu")
    is_learning = torch.is_grad_enabled() and not torch.compiler.is_compiling()
    return is_plain and is_learning and not is_half and compiled_kernels() is not None
