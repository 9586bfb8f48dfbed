"""The exact cross-entropy over the whole vocabulary, with a chunk of logits in memory at a time.

Loss and gradients are made together while a chunk is at hand, so that nothing of the size of
(N, V) is ever kept. Legend: N positions, C positions of a chunk, V pieces, P pieces and padding,
D width.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from headstart.objectives.vocabulary_loss.folded import computed_type, folded_loss, folded_losses

# Each chunk reads the matrix twice and its gradient once, so that small chunks repeat that work:
# at 50,001 pieces 16 MiB are 17 % slower than 128, and beyond it only memory is lost.
NUM_CHUNK_BYTES = 128 << 20
# A GPU has the memory, and needs larger products to be busy; in half precision, see `folded`.
NUM_CHUNK_BYTES_ON_GPU = 512 << 20
# Below this the plain form is done before a loop over chunks has begun.
NUM_PLAIN_BYTES = 4 << 20
# Rows of logits begin on a cache line: at 50,001 pieces the product is 1.6 times as fast for it.
ROW_ALIGNMENT = 16


class Answers(NamedTuple):
    """The true pieces of positions, and as how many answers each counts; None for one each."""

    target_N: Tensor
    counted_N: Tensor | None

    def at(self, place: slice) -> "Answers":
        """Returns the answers of a chunk."""
        counted_N = self.counted_N
        return Answers(self.target_N[place], None if counted_N is None else counted_N[place])


def summed_loss(
    hidden_ND: Tensor,
    weight_VD: Tensor,
    bias_V: Tensor | None,
    target_N: Tensor,
    counted_N: Tensor | None = None,
    *,
    label_smoothing: float = 0.0,
) -> Tensor:
    """Returns the sum of the cross-entropies of all positions, in nats, with gradients.

    Each position is as many answers as `counted_N` says, such as none; without it, one each.
    """
    if len(hidden_ND) * len(weight_VD) * hidden_ND.element_size() <= NUM_PLAIN_BYTES:
        answers = Answers(target_N, counted_N)
        return _plain_loss(hidden_ND, weight_VD, bias_V, answers, label_smoothing)
    inputs = [tensor for tensor in (hidden_ND, weight_VD, bias_V) if tensor is not None]
    is_learning = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs)
    if is_folded(hidden_ND):
        form = folded_loss if is_learning else folded_losses
        return form(hidden_ND, weight_VD, bias_V, target_N, label_smoothing, counted_N).sum()
    if is_learning:
        loss: Tensor = _SummedLoss.apply(  # type: ignore[no-untyped-call]  # PyTorch's own
            hidden_ND, weight_VD, bias_V, Answers(target_N, counted_N), label_smoothing
        )
        return loss
    logits = _Logits.of(hidden_ND, weight_VD, bias_V)
    loss_N = _losses(logits, target_N, label_smoothing)
    return loss_N.sum() if counted_N is None else (loss_N * counted_N).sum()


@torch.no_grad()
def position_losses(
    hidden_ND: Tensor, weight_VD: Tensor, bias_V: Tensor | None, target_N: Tensor
) -> Tensor:
    """Returns the cross-entropy of each position, in nats and without gradients. Shape (N,)."""
    if is_folded(hidden_ND):
        return folded_losses(hidden_ND, weight_VD, bias_V, target_N)
    return _losses(_Logits.of(hidden_ND, weight_VD, bias_V), target_N, label_smoothing=0.0)


def is_folded(hidden_ND: Tensor) -> bool:
    """Whether a GPU computes in a half precision that has the range of exponentials."""
    return hidden_ND.is_cuda and computed_type(hidden_ND) == torch.bfloat16


def _plain_loss(
    hidden_ND: Tensor,
    weight_VD: Tensor,
    bias_V: Tensor | None,
    answers: Answers,
    label_smoothing: float,
) -> Tensor:
    """Returns the same sum by PyTorch's own functions, all logits at once."""
    if bias_V is not None:
        bias_V = bias_V.to(hidden_ND.dtype)
    logits_NV = F.linear(hidden_ND, weight_VD.to(hidden_ND.dtype), bias_V)
    logits_NV = logits_NV.to(torch.promote_types(logits_NV.dtype, torch.float32))
    loss_N = F.cross_entropy(
        logits_NV, answers.target_N, reduction="none", label_smoothing=label_smoothing
    )
    return loss_N.sum() if answers.counted_N is None else (loss_N * answers.counted_N).sum()


@dataclass(frozen=True)
class _Logits:
    """The factors of the logits, in the type that their product is computed in."""

    hidden_ND: Tensor
    weight_VD: Tensor
    bias_V: Tensor | None

    @staticmethod
    def of(hidden_ND: Tensor, weight_VD: Tensor, bias_V: Tensor | None) -> "_Logits":
        """Takes the factors as autocast would: in its type where it is on, else in the input's."""
        dtype = computed_type(hidden_ND)
        bias_V = None if bias_V is None else bias_V.detach().to(dtype)
        return _Logits(hidden_ND.detach().to(dtype), weight_VD.detach().to(dtype), bias_V)

    @property
    def num_pieces(self) -> int:
        """The size of the vocabulary."""
        return len(self.weight_VD)

    @property
    def statistics_dtype(self) -> torch.dtype:
        """The type of sums over the vocabulary: single precision at least."""
        return torch.promote_types(self.hidden_ND.dtype, torch.float32)

    def new_statistics(self, *shape: int) -> Tensor:
        """Returns room for figures that are sums over the vocabulary."""
        return self.hidden_ND.new_empty(shape, dtype=self.statistics_dtype)

    def chunks(self) -> Iterator[tuple[slice, Tensor]]:
        """Yields positions with their logits, padded by minus infinity, in one reused buffer."""
        num_positions = len(self.hidden_ND)
        num_columns = -(-self.num_pieces // ROW_ALIGNMENT) * ROW_ALIGNMENT
        size = self._chunk_size(num_columns)
        buffer_CP = self.hidden_ND.new_empty(min(size, num_positions), num_columns)
        for start in range(0, num_positions, size):
            hidden_CD = self.hidden_ND[start : start + size]
            logits_CP = buffer_CP[: len(hidden_CD)]
            logits_CP[:, self.num_pieces :] = -torch.inf
            self._multiply(hidden_CD, logits_CP[:, : self.num_pieces])
            yield slice(start, start + len(hidden_CD)), logits_CP

    def _chunk_size(self, num_columns: int) -> int:
        """Returns how many positions a chunk holds."""
        num_bytes = NUM_CHUNK_BYTES_ON_GPU if self.hidden_ND.is_cuda else NUM_CHUNK_BYTES
        return max(1, num_bytes // (num_columns * self.statistics_dtype.itemsize))

    def _multiply(self, hidden_CD: Tensor, logits_CV: Tensor) -> None:
        """Writes the logits of a chunk."""
        if self.bias_V is None:
            torch.mm(hidden_CD, self.weight_VD.T, out=logits_CV)
        else:
            torch.addmm(self.bias_V, hidden_CD, self.weight_VD.T, out=logits_CV)


def _losses(logits: _Logits, target_N: Tensor, label_smoothing: float) -> Tensor:
    """Returns the loss of each position and makes no gradient. Shape (N,)."""
    loss_N = logits.new_statistics(len(target_N))
    for place, logits_CP in logits.chunks():
        out = logits_CP if logits_CP.dtype == loss_N.dtype else None
        scores_CP = torch.log_softmax(logits_CP, -1, dtype=loss_N.dtype, out=out)
        loss_N[place] = -_wanted_scores(logits, scores_CP, target_N[place], label_smoothing)
    return loss_N


def _wanted_scores(
    logits: _Logits, scores_CP: Tensor, target_C: Tensor, label_smoothing: float
) -> Tensor:
    """Returns the score of each target, mixed with the mean of all pieces by the smoothing."""
    dtype = logits.statistics_dtype
    score_C = scores_CP.gather(1, target_C[:, None]).squeeze(1).to(dtype)
    if label_smoothing:
        mean_C = scores_CP[:, : logits.num_pieces].mean(-1, dtype=dtype)
        score_C = torch.lerp(score_C, mean_C, label_smoothing)
    return score_C


class _Gradients:
    """The gradients of a loss by its inputs, added up chunk by chunk; None where none is wanted."""

    def __init__(self, logits: _Logits, is_wanted: Sequence[bool]) -> None:
        self.logits = logits
        wants_hidden, wants_weight, wants_bias = is_wanted
        self.hidden_ND = torch.empty_like(logits.hidden_ND) if wants_hidden else None
        shape = logits.weight_VD.shape
        # Sums over many chunks would lose small terms in half precision.
        self.weight_VD = logits.new_statistics(*shape).zero_() if wants_weight else None
        self.bias_V = logits.new_statistics(shape[0]).zero_() if wants_bias else None

    def add(self, place: slice, gradient_CV: Tensor) -> None:
        """Adds what a chunk's gradient by its logits comes to."""
        hidden_CD = self.logits.hidden_ND[place]
        if self.hidden_ND is not None:
            torch.mm(gradient_CV, self.logits.weight_VD, out=self.hidden_ND[place])
        if gradient_CV.dtype == self.logits.statistics_dtype:
            self._add_to_head(gradient_CV, hidden_CD)
        else:
            self._add_rounded_to_head(gradient_CV, hidden_CD)

    def _add_to_head(self, gradient_CV: Tensor, hidden_CD: Tensor) -> None:
        """Adds to the gradients of matrix and bias, without a copy."""
        if self.weight_VD is not None:
            self.weight_VD.addmm_(gradient_CV.T, hidden_CD)
        if self.bias_V is not None:
            # A product with ones runs three times as fast as a sum over rows.
            self.bias_V.addmv_(gradient_CV.T, gradient_CV.new_ones(len(gradient_CV)))

    def _add_rounded_to_head(self, gradient_CV: Tensor, hidden_CD: Tensor) -> None:
        """Adds products of half precision to sums of single precision."""
        if self.weight_VD is not None:
            self.weight_VD += gradient_CV.T @ hidden_CD
        if self.bias_V is not None:
            self.bias_V += gradient_CV.sum(0, dtype=self.bias_V.dtype)


class _SummedLoss(torch.autograd.Function):
    """The summed loss, which makes its gradients on the way and only scales them later."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_ND: Tensor,
        weight_VD: Tensor,
        bias_V: Tensor | None,
        answers: Answers,
        label_smoothing: float,
    ) -> Tensor:
        """Returns the loss."""
        # Types are chosen here; autocast would choose them once more, otherwise.
        logits = _Logits.of(hidden_ND, weight_VD, bias_V)
        with torch.autocast(hidden_ND.device.type, enabled=False):
            gradients = _Gradients(logits, ctx.needs_input_grad[:3])
            loss_N = logits.new_statistics(len(answers.target_N))
            for place, logits_CP in logits.chunks():
                gradient_CV, loss_N[place] = _differentiate(
                    logits, logits_CP, answers.at(place), label_smoothing
                )
                gradients.add(place, gradient_CV)
        ctx.dtypes = [None if x is None else x.dtype for x in (hidden_ND, weight_VD, bias_V)]
        ctx.save_for_backward(gradients.hidden_ND, gradients.weight_VD, gradients.bias_V)
        return loss_N.sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        """Scales the gradients by that of the loss."""
        scaled = [
            None if gradient is None else (gradient * scale).to(dtype)
            for gradient, dtype in zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        ]
        return *scaled, None, None


def _differentiate(
    logits: _Logits, logits_CP: Tensor, answers: Answers, label_smoothing: float
) -> tuple[Tensor, Tensor]:
    """Returns the gradient of a chunk's loss by its logits, in their place, and the losses."""
    dtype, num_pieces = logits.statistics_dtype, logits.num_pieces
    target_C, counted_C = answers
    highest_C = logits_CP.amax(-1).to(dtype)
    wanted_C = _wanted_scores(logits, logits_CP, target_C, label_smoothing)
    out = logits_CP if logits_CP.dtype == dtype else None
    probability_CP = torch.softmax(logits_CP, -1, dtype=dtype, out=out)
    # The highest piece has one part of the sum of exponentials, which never vanishes; the
    # target's own probability may.
    loss_C = highest_C - probability_CP.amax(-1).log() - wanted_C
    rows_C = torch.arange(len(target_C), device=target_C.device)
    probability_CP[rows_C, target_C] -= 1 - label_smoothing
    # What is spread over all pieces is taken off while the gradient is written to its place.
    spread = label_smoothing / num_pieces
    if counted_C is not None:
        counted_C1 = counted_C.to(dtype)[:, None]
        torch.addcmul(-spread * counted_C1, probability_CP, counted_C1, out=logits_CP)
        loss_C = loss_C * counted_C
    elif out is None or spread:
        torch.sub(probability_CP, spread, out=logits_CP)
    return logits_CP[:, :num_pieces], loss_C
