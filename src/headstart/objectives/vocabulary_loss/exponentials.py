"""The one pass over a chunk of logits: exponentials in their place, losses and sums beside them.

On a GPU a kernel of our own does it, where Triton can make one; everywhere else PyTorch does.
Legend: C positions of a chunk, R positions done at once, V pieces, P pieces and padding.
"""

import logging
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

# What PyTorch needs beside a chunk, in single precision.
NUM_ASIDE_BYTES = 256 << 20

# Logits, targets, pieces, certainty of the targets; returns the loss and scale of each position.
Pass = Callable[[Tensor, Tensor, int, float], tuple[Tensor, Tensor]]


def to_exponentials(
    logits_CP: Tensor, target_C: Tensor, num_pieces: int, certainty: float
) -> tuple[Tensor, Tensor]:
    """Writes in the place of logits what a scale turns into the gradient of the loss by them.

    Returns the loss of each position, the cross-entropy with `certainty` of the target (the rest of
    a smoothed target is for the caller), and the scale: one over the sum of its exponentials.
    """
    make_pass = kernel_pass() if logits_CP.is_cuda and logits_CP.dtype == torch.bfloat16 else None
    return (make_pass or plain_pass)(logits_CP, target_C, num_pieces, certainty)


@cache
def kernel_pass() -> Pass | None:
    """Returns the pass as a kernel, or None where none can be made, with one line that says so."""
    try:
        from headstart.objectives.vocabulary_loss.triton_pass import triton_pass

        # Whatever keeps a kernel from being made is met here, and not in the middle of a step.
        row_1P = torch.zeros(1, 16, dtype=torch.bfloat16, device="cuda")
        triton_pass(row_1P, torch.zeros(1, dtype=torch.int64, device="cuda"), 8, 1.0)
    except Exception as error:  # a missing compiler, driver or module: each has errors of its own
        reason = " ".join(str(error).split())[:200]
        logging.getLogger(__name__).warning("The vocabulary head has no kernel here: %s", reason)
        return None
    return triton_pass


def plain_pass(
    logits_CP: Tensor, target_C: Tensor, num_pieces: int, certainty: float
) -> tuple[Tensor, Tensor]:
    """Does the pass with PyTorch's own functions, some positions at a time."""
    dtype = torch.promote_types(logits_CP.dtype, torch.float32)
    loss_C = logits_CP.new_empty(len(logits_CP), dtype=dtype)
    scale_C = torch.empty_like(loss_C)
    num_at_once = max(1, NUM_ASIDE_BYTES // (logits_CP.shape[1] * dtype.itemsize))
    for start in range(0, len(logits_CP), num_at_once):
        place = slice(start, start + num_at_once)
        logits_RV, target_R1 = logits_CP[place, :num_pieces], target_C[place, None]
        score_RV = logits_RV.to(dtype)
        highest_R1 = score_RV.amax(-1, keepdim=True)
        wanted_R1 = score_RV.gather(1, target_R1)
        power_RV = torch.exp(score_RV - highest_R1)
        sum_R1 = power_RV.sum(-1, keepdim=True)
        loss_R1 = sum_R1.log() + highest_R1 - certainty * wanted_R1
        power_RV.scatter_add_(1, target_R1, -certainty * sum_R1)
        logits_RV.copy_(power_RV)
        loss_C[place], scale_C[place] = loss_R1.squeeze(1), sum_R1.reciprocal().squeeze(1)
    logits_CP[:, num_pieces:] = 0
    return loss_C, scale_C
