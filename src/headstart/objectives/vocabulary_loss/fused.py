"""What is done to a chunk of logits, written so that a compiler makes two kernels of it.

Step by step, each of a dozen kernels reads or writes a chunk in whole; a large vocabulary then
costs a GPU more in such passes than in its products. Legend: C positions of a chunk, V pieces.
"""

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

Differentiate = Callable[[Tensor, Tensor, Tensor | None, float], tuple[Tensor, Tensor]]


def differentiate(
    logits_CV: Tensor, target_C: Tensor, counted_C: Tensor | None, label_smoothing: float
) -> tuple[Tensor, Tensor]:
    """Returns the gradient of the smoothed loss by the logits, and the loss of each position."""
    num_pieces = logits_CV.shape[1]
    score_CV = logits_CV.to(torch.promote_types(logits_CV.dtype, torch.float32))
    total_C = score_CV.logsumexp(-1)
    wanted_C = score_CV.gather(1, target_C[:, None]).squeeze(1)
    loss_C = total_C - torch.lerp(wanted_C, score_CV.mean(-1), label_smoothing)
    is_target_CV = torch.arange(num_pieces, device=target_C.device) == target_C[:, None]
    truth_CV = is_target_CV * (1 - label_smoothing) + label_smoothing / num_pieces
    gradient_CV = (score_CV - total_C[:, None]).exp() - truth_CV
    if counted_C is not None:
        gradient_CV = gradient_CV * counted_C[:, None]
        loss_C = loss_C * counted_C
    return gradient_CV.to(logits_CV.dtype), loss_C


@cache
def compiled_differentiate() -> Differentiate:
    """Returns the same compiled for any number of positions, once asked for."""
    return torch.compile(differentiate, dynamic=True)
