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

from headstart.models.gradients import made_once
from headstart.objectives.vocabulary_loss.compiled_pass import CompiledPass, pass_kernels
from headstart.objectives.vocabulary_loss.folded import computed_type, folded_loss, folded_losses
from headstart.objectives.vocabulary_loss.pytorch_pass import PyTorchPass, statistics_dtype

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
    check_answers(hidden_ND, Answers(target_N, counted_N))
    if is_plain(hidden_ND, weight_VD):
        loss_N = _plain_losses(hidden_ND, weight_VD, bias_V, target_N, label_smoothing)
        return loss_N.sum() if counted_N is None else (loss_N * counted_N).sum()
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
    loss_N = _losses(_Logits.of(hidden_ND, weight_VD, bias_V, label_smoothing), target_N)
    return loss_N.sum() if counted_N is None else (loss_N * counted_N).sum()


@torch.no_grad()
def position_losses(
    hidden_ND: Tensor, weight_VD: Tensor, bias_V: Tensor | None, target_N: Tensor
) -> Tensor:
    """Returns the cross-entropy of each position, in nats and without gradients. Shape (N,)."""
    check_answers(hidden_ND, Answers(target_N, None))
    if is_plain(hidden_ND, weight_VD):
        return _plain_losses(hidden_ND, weight_VD, bias_V, target_N)
    if is_folded(hidden_ND):
        return folded_losses(hidden_ND, weight_VD, bias_V, target_N)
    return _losses(_Logits.of(hidden_ND, weight_VD, bias_V), target_N)


def check_answers(hidden_ND: Tensor, answers: Answers) -> None:
    """Raises unless there is an answer for each position, where the positions are."""
    place = len(hidden_ND), hidden_ND.device
    for given in answers:
        if given is not None and (len(given), given.device) != place:
            raise ValueError(
                f"There are {place[0]} positions on {place[1]} and answers for {len(given)} on "
                f"{given.device}. Give one for each position, on the same device."
            )


def is_folded(hidden_ND: Tensor) -> bool:
    """Whether a GPU computes in a half precision that has the range of exponentials."""
    return hidden_ND.is_cuda and computed_type(hidden_ND) == torch.bfloat16


def is_plain(hidden_ND: Tensor, weight_VD: Tensor) -> bool:
    """Whether there are so few logits that they are made all at once."""
    return len(hidden_ND) * len(weight_VD) * hidden_ND.element_size() <= NUM_PLAIN_BYTES


def _plain_losses(
    hidden_ND: Tensor,
    weight_VD: Tensor,
    bias_V: Tensor | None,
    target_N: Tensor,
    label_smoothing: float = 0.0,
) -> Tensor:
    """Returns the loss of each position by PyTorch's own functions. Shape (N,)."""
    if bias_V is not None:
        bias_V = bias_V.to(hidden_ND.dtype)
    logits_NV = F.linear(hidden_ND, weight_VD.to(hidden_ND.dtype), bias_V)
    logits_NV = logits_NV.to(statistics_dtype(logits_NV.dtype))
    return F.cross_entropy(logits_NV, target_N, reduction="none", label_smoothing=label_smoothing)


@dataclass(frozen=True)
class _Logits:
    """The factors of the logits, in the type of their product, and what is done with a chunk."""

    hidden_ND: Tensor
    weight_VD: Tensor
    each: PyTorchPass | CompiledPass

    @staticmethod
    def of(
        hidden_ND: Tensor, weight_VD: Tensor, bias_V: Tensor | None, label_smoothing: float = 0.0
    ) -> "_Logits":
        """Takes the factors as autocast would: in its type where it is on, else in the input's."""
        dtype, num_pieces = computed_type(hidden_ND), len(weight_VD)
        bias_V = None if bias_V is None else bias_V.detach()
        each: PyTorchPass | CompiledPass
        if (kernels := pass_kernels(hidden_ND.device, dtype)) is not None:
            single_V = None if bias_V is None else bias_V.float().contiguous()
            each = CompiledPass(kernels, single_V, num_pieces, label_smoothing)
        else:
            each = PyTorchPass(
                None if bias_V is None else bias_V.to(dtype), num_pieces, label_smoothing
            )
        return _Logits(hidden_ND.detach().to(dtype), weight_VD.detach().to(dtype), each)

    @property
    def num_pieces(self) -> int:
        """The size of the vocabulary."""
        return len(self.weight_VD)

    @property
    def statistics_dtype(self) -> torch.dtype:
        """The type of sums over the vocabulary."""
        return statistics_dtype(self.hidden_ND.dtype)

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
        if self.each.product_bias_V is None:
            torch.mm(hidden_CD, self.weight_VD.T, out=logits_CV)
        else:
            torch.addmm(self.each.product_bias_V, hidden_CD, self.weight_VD.T, out=logits_CV)


def _losses(logits: _Logits, target_N: Tensor) -> Tensor:
    """Returns the loss of each position and makes no gradient. Shape (N,)."""
    loss_N = logits.new_statistics(len(target_N))
    for place, logits_CP in logits.chunks():
        loss_N[place] = logits.each.losses(logits_CP, target_N[place])
    return loss_N


class _Gradients:
    """The gradients of a loss by its inputs, added up chunk by chunk; None where none is wanted."""

    def __init__(self, logits: _Logits, is_wanted: Sequence[bool]) -> None:
        self.logits = logits
        wants_hidden, wants_weight, wants_bias = is_wanted
        self.hidden_ND = torch.empty_like(logits.hidden_ND) if wants_hidden else None
        # Sums over many chunks would lose small terms in half precision.
        self.weight_VD = (
            logits.new_statistics(*logits.weight_VD.shape).zero_() if wants_weight else None
        )
        self.bias_TV = logits.each.new_bias_gradients(logits.hidden_ND) if wants_bias else None

    def add(self, place: slice, gradient_CV: Tensor) -> None:
        """Adds what a chunk's gradient by its logits comes to, but for the bias."""
        if self.hidden_ND is not None:
            torch.mm(gradient_CV, self.logits.weight_VD, out=self.hidden_ND[place])
        if self.weight_VD is None:
            return
        hidden_CD = self.logits.hidden_ND[place]
        if gradient_CV.dtype == self.weight_VD.dtype:
            self.weight_VD.addmm_(gradient_CV.T, hidden_CD)
        else:
            self.weight_VD += gradient_CV.T @ hidden_CD


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
        logits = _Logits.of(hidden_ND, weight_VD, bias_V, label_smoothing)
        with torch.autocast(hidden_ND.device.type, enabled=False):
            gradients = _Gradients(logits, ctx.needs_input_grad[:3])
            loss_N = logits.new_statistics(len(answers.target_N))
            for place, logits_CP in logits.chunks():
                loss_N[place] = logits.each.differentiate(
                    logits_CP, *answers.at(place), gradients.bias_TV
                )
                gradients.add(place, logits_CP[:, : logits.num_pieces])
        ctx.dtypes = [None if x is None else x.dtype for x in (hidden_ND, weight_VD, bias_V)]
        summed_V = None if gradients.bias_TV is None else gradients.bias_TV.sum(0)
        ctx.save_for_backward(gradients.hidden_ND, gradients.weight_VD, summed_V)
        return loss_N.sum()

    @staticmethod
    @made_once
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        """Scales the gradients by that of the loss."""
        scaled = [
            None if gradient is None else (gradient * scale).to(dtype)
            for gradient, dtype in zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        ]
        return *scaled, None, None
