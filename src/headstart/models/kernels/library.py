"""The compiled kernels, found beside their sources: one file for each kind of processor."""

import ctypes
import logging
from ctypes import c_uint64
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from headstart.models.kernels.attention import declare_attention
from headstart.models.kernels.dropout import declare_dropout
from headstart.models.kernels.fingerprint import fingerprint
from headstart.models.kernels.moved_rows import declare_moved_rows
from headstart.models.kernels.relu import declare_relu
from headstart.models.kernels.residual import declare_residual
from headstart.models.kernels.rows import declare_rows
from headstart.models.kernels.vocabulary import declare_vocabulary

DECLARATIONS = (
    declare_rows,
    declare_attention,
    declare_dropout,
    declare_residual,
    declare_relu,
    declare_vocabulary,
    declare_moved_rows,
)
# The processors that they are built for, as PyTorch names them, and the name of each one's file;
# each can use those behind its own.
FILES = {"AVX512": "kernels.avx512.so", "AVX2": "kernels.avx2.so"}


@cache
def compiled_kernels() -> Any | None:
    """Returns the compiled functions; None where there are none, with one line that says so."""
    capability = torch.backends.cpu.get_cpu_capability()
    paths, reasons = paths_for(capability), []
    for path in paths:
        try:
            return load_kernels(path)
        except (OSError, AttributeError) as error:  # not built, or from other sources
            reasons.append(str(error))
    # What was built and cannot be used is somebody's mistake.
    level = logging.WARNING if any(path.exists() for path in paths) else logging.INFO
    reason = "; ".join(reasons) or f"there are none for processors of the kind {capability}"
    logging.getLogger(__name__).log(level, "PyTorch does without compiled kernels: %s", reason)
    return None


def paths_for(capability: str) -> list[Path]:
    """Returns the files that a kind of processor can use, the best one first."""
    kinds = list(FILES)
    usable = kinds[kinds.index(capability) :] if capability in kinds else []
    return [Path(__file__).with_name(FILES[kind]) for kind in usable]


def load_kernels(path: Path) -> Any:
    """Returns the functions of one file, with what each takes and returns."""
    library = ctypes.CDLL(str(path))
    library.fingerprint.argtypes, library.fingerprint.restype = (), c_uint64
    is_of_these = library.fingerprint() == fingerprint(path.parent)
    if not is_of_these or not all(declare(library) for declare in DECLARATIONS):
        raise OSError(
            f"{path} was built from other sources than those beside it; install the package again"
        )
    return library


@cache
def shares_threads(kernels: Any) -> bool:
    """Whether compiled code works with PyTorch's threads; where it cannot, one line says so."""
    if kernels.has_threads():
        return True
    logging.getLogger(__name__).info("PyTorch learns without compiled kernels on several threads")
    return False


def serves_learning(hidden: Tensor) -> bool:
    """Whether something is learned from vectors in a way that compiled kernels know."""
    # Of inference nothing can be kept for gradients; it is asked last, since compilers cannot say.
    return torch.is_grad_enabled() and serves(hidden) and not torch.is_inference_mode_enabled()


def serves(numbers: Tensor) -> bool:
    """Whether compiled kernels know such numbers, and nobody watches what is done with them."""
    # First, since a compiler that follows need not look at what comes behind it.
    if is_watched() or torch.is_autocast_enabled("cpu"):
        return False
    return is_plain(numbers) and threaded_kernels() is not None


def is_plain(numbers: Tensor) -> bool:
    """Whether numbers in single precision lie in memory, and are no stand-in for others."""
    is_itself = type(numbers) is Tensor or type(numbers) is nn.Parameter
    return is_itself and numbers.device.type == "cpu" and numbers.dtype == torch.float32


def is_watched() -> bool:
    """Whether operations are followed one by one, by whom none of compiled code would be seen."""
    return (
        torch.compiler.is_compiling()
        # `torch.func` would differentiate what it cannot see into.
        or torch._C._are_functorch_transforms_active()
        # Such as counters of operations, and what keeps some of them and does others again.
        or torch._C._len_torch_dispatch_stack() > 0
    )


def threaded_kernels() -> Any | None:
    """Returns the compiled functions; None where there are none, or not on several threads."""
    kernels = compiled_kernels()
    if kernels is None or (torch.get_num_threads() > 1 and not shares_threads(kernels)):
        return None
    return kernels


def kernels_in_use() -> Any:
    """Returns the compiled functions, where something has been found to be served by them."""
    return compiled_kernels()


def address_of(tensor: Tensor | None) -> int | None:
    """Returns where the numbers of a tensor lie; nothing where there is none."""
    return None if tensor is None else tensor.data_ptr()
