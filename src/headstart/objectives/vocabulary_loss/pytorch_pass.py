"""The pass over a chunk of logits by PyTorch's own functions: every device and every type.

Legend: C positions of a chunk, P pieces and padding, V pieces.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class PyTorchPass:
    """What is the same for all chunks, whose padding is minus infinity."""

    product_bias_V: Tensor | None
    """What the product that makes logits adds to them."""
    num_pieces: int
    label_smoothing: float

    def losses(self, logits_CP: Tensor, target_C: Tensor) -> Tensor:
        """Returns the loss of each position, and makes no gradient. Shape (C,)."""
        dtype = statistics_dtype(logits_CP.dtype)
        out = logits_CP if logits_CP.dtype == dtype else None
        scores_CP = torch.log_softmax(logits_CP, -1, dtype=dtype, out=out)
        return -self._wanted_scores(scores_CP, target_C)

    def differentiate(
        self,
        logits_CP: Tensor,
        target_C: Tensor,
        counted_C: Tensor | None,
        bias_gradient_TV: Tensor | None,
    ) -> Tensor:
        """Returns the losses; leaves the gradient by the logits in their place. Shape (C,)."""
        dtype = statistics_dtype(logits_CP.dtype)
        highest_C = logits_CP.amax(-1).to(dtype)
        wanted_C = self._wanted_scores(logits_CP, target_C)
        out = logits_CP if logits_CP.dtype == dtype else None
        probability_CP = torch.softmax(logits_CP, -1, dtype=dtype, out=out)
        # The highest piece has one part of the sum of exponentials, which never vanishes; the
        # target's own probability may.
        loss_C = highest_C - probability_CP.amax(-1).log() - wanted_C
        rows_C = torch.arange(len(target_C), device=target_C.device)
        probability_CP[rows_C, target_C] -= 1 - self.label_smoothing
        # What is spread over all pieces is taken off while the gradient is written to its place.
        spread = self.label_smoothing / self.num_pieces
        if counted_C is not None:
            counted_C1 = counted_C.to(dtype)[:, None]
            torch.addcmul(-spread * counted_C1, probability_CP, counted_C1, out=logits_CP)
            loss_C = loss_C * counted_C
        elif out is None or spread:
            torch.sub(probability_CP, spread, out=logits_CP)
        if bias_gradient_TV is not None:
            add_rows(logits_CP[:, : self.num_pieces], bias_gradient_TV[0])
        return loss_C

    def new_bias_gradients(self, like: Tensor) -> Tensor:
        """Returns room for the gradient of the bias. Shape (1, V)."""
        return like.new_zeros(1, self.num_pieces, dtype=statistics_dtype(like.dtype))

    def _wanted_scores(self, scores_CP: Tensor, target_C: Tensor) -> Tensor:
        """Returns the score of each target, mixed with the mean of all by the smoothing."""
        dtype = statistics_dtype(scores_CP.dtype)
        score_C = scores_CP.gather(1, target_C[:, None]).squeeze(1).to(dtype)
        if self.label_smoothing:
            mean_C = scores_CP[:, : self.num_pieces].mean(-1, dtype=dtype)
            score_C = torch.lerp(score_C, mean_C, self.label_smoothing)
        return score_C


def statistics_dtype(dtype: torch.dtype) -> torch.dtype:
    """Returns the type of sums over the vocabulary: single precision at least."""
    return torch.promote_types(dtype, torch.float32)


def add_rows(row_CV: Tensor, sum_V: Tensor) -> None:
    """Adds the rows of a chunk to what there is."""
    if row_CV.dtype == sum_V.dtype:
        # A product with ones runs three times as fast as a sum over rows.
        sum_V.addmv_(row_CV.T, row_CV.new_ones(len(row_CV)))
    else:
        sum_V += row_CV.sum(0, dtype=sum_V.dtype)
