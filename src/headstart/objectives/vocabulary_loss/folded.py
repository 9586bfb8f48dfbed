"""The exact cross-entropy in half precision on a GPU: three matrix products and one pass a chunk.

The gradient of a position's loss by its logits is E/s less the certainty at its target, where E are
the exponentials of the logits and s is their sum. So one pass over a chunk writes E in the place of
the logits, with the target's share taken off, and nothing is ever divided by s there: that is done
to the narrow factors of the two products that follow, D numbers a position and not V. The bias is a
column of the matrix against a column of ones beside the vectors; uniform label smoothing, which is
the same for all positions, is a sum over each factor. Beside the products, which take most of the
time, a chunk is read and written once.

Legend: N positions, C positions of a chunk, V pieces, P pieces and padding, D width, W width with
the bias and padding.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from headstart.models.gradients import made_once
from headstart.objectives.vocabulary_loss.exponentials import Aim, write_exponentials

# A quarter of 65,536 positions at 50,001 pieces in half precision: 128 tiles of 128 positions for
# the 132 processors of a large GPU. Smaller chunks leave some idle, larger ones need the memory.
NUM_CHUNK_BYTES = 1_700_000_000
# Matrix products are fast where rows begin on a multiple of 16 bytes; tiles are 64 wide and more.
WIDTH_ALIGNMENT, PIECE_ALIGNMENT, POSITION_ALIGNMENT = 8, 64, 128


def folded_loss(
    hidden_ND: Tensor,
    weight_VD: Tensor,
    bias_V: Tensor | None,
    target_N: Tensor,
    label_smoothing: float = 0.0,
    counted_N: Tensor | None = None,
) -> Tensor:
    """Returns the sum of the cross-entropies of all positions, in nats, with gradients.

    Each position is as many answers as `counted_N` says, such as none; without it, one each.
    """
    loss: Tensor = _FoldedLoss.apply(  # type: ignore[no-untyped-call]  # PyTorch's own
        hidden_ND, weight_VD, bias_V, _Asked(target_N, counted_N, label_smoothing)
    )
    return loss


@torch.no_grad()
def folded_losses(
    hidden_ND: Tensor,
    weight_VD: Tensor,
    bias_V: Tensor | None,
    target_N: Tensor,
    label_smoothing: float = 0.0,
    counted_N: Tensor | None = None,
) -> Tensor:
    """Returns the cross-entropy of each position, in nats and without gradients. Shape (N,)."""
    factors = _Factors.of(hidden_ND, weight_VD, bias_V)
    return _losses(factors, _Asked(target_N, counted_N, label_smoothing), gradients=None)


def computed_type(hidden_ND: Tensor) -> torch.dtype:
    """Returns the type that products are computed in: that of autocast where it is on."""
    kind = hidden_ND.device.type
    is_cast = torch.is_autocast_enabled(kind)
    return torch.get_autocast_dtype(kind) if is_cast else hidden_ND.dtype


def aligned(number: int, step: int) -> int:
    """Returns the next multiple of a step."""
    return -(-number // step) * step


class _Asked(NamedTuple):
    """What is asked at each position, as how many answers it counts, and how certain it is."""

    target_N: Tensor
    counted_N: Tensor | None
    label_smoothing: float

    def counted(self, value_N: Tensor, place: slice = slice(None)) -> Tensor:
        """Returns what each position of some has, as often as it counts."""
        return value_N if self.counted_N is None else value_N * self.counted_N[place]


@dataclass(frozen=True)
class _Factors:
    """The factors of the logits with the bias beside them, padded to what products like."""

    hidden_NW: Tensor
    table_PW: Tensor
    width: int
    num_pieces: int

    @staticmethod
    def of(hidden_ND: Tensor, weight_VD: Tensor, bias_V: Tensor | None) -> "_Factors":
        """Copies the factors into place; padding is 0 and adds nothing to any product."""
        dtype = computed_type(hidden_ND)
        num_positions, width = hidden_ND.shape
        num_pieces = len(weight_VD)
        num_columns = aligned(width + (0 if bias_V is None else 2), WIDTH_ALIGNMENT)
        num_rows = aligned(num_pieces, PIECE_ALIGNMENT)
        hidden_NW = hidden_ND.new_zeros(num_positions, num_columns, dtype=dtype)
        table_PW = hidden_ND.new_zeros(num_rows, num_columns, dtype=dtype)
        hidden_NW[:, :width] = hidden_ND.detach()
        table_PW[:num_pieces, :width] = weight_VD.detach()
        if bias_V is not None:
            hidden_NW[:, width : width + 2] = 1
            rounded_V = bias_V.detach().to(dtype)
            table_PW[:num_pieces, width] = rounded_V
            # What half precision leaves of a bias: without it, small steps of it would not count.
            table_PW[:num_pieces, width + 1] = bias_V.detach() - rounded_V
        return _Factors(hidden_NW, table_PW, width, num_pieces)

    @property
    def statistics_dtype(self) -> torch.dtype:
        """The type of sums over pieces or positions: single precision at least."""
        return torch.promote_types(self.hidden_NW.dtype, torch.float32)

    def chunks(self) -> Iterator[tuple[slice, Tensor]]:
        """Yields positions with room for their exponentials, the same for each chunk."""
        num_positions, num_rows = len(self.hidden_NW), len(self.table_PW)
        most = max(1, NUM_CHUNK_BYTES // (num_rows * self.hidden_NW.element_size()))
        size = -(-num_positions // -(-num_positions // most)) if num_positions else 0
        size = min(aligned(size, POSITION_ALIGNMENT), num_positions)
        buffer_CP = self.hidden_NW.new_empty(size, num_rows)
        for start in range(0, num_positions, max(1, size)):
            stop = min(start + size, num_positions)
            yield slice(start, stop), buffer_CP[: stop - start]

    def mean_row(self) -> Tensor:
        """Returns the mean of the matrix over all pieces. Shape (W,)."""
        return self.table_PW.sum(0, dtype=self.statistics_dtype) / self.num_pieces


class _Gradients:
    """The gradients of a loss by its inputs, added up chunk by chunk; None where none is wanted."""

    def __init__(self, factors: _Factors, is_wanted: Sequence[bool]) -> None:
        self.factors = factors
        wants_hidden, *wants_table = is_wanted
        narrow = (len(factors.hidden_NW), factors.width)
        self.hidden_ND = factors.hidden_NW.new_empty(narrow) if wants_hidden else None
        # Sums over all positions would lose small terms in half precision.
        self.table_PW = (
            torch.zeros_like(factors.table_PW, dtype=factors.statistics_dtype)
            if any(wants_table)
            else None
        )

    def add(self, place: slice, power_CP: Tensor, scale_C: Tensor) -> None:
        """Adds what a chunk's exponentials come to, once those of each position are scaled."""
        if self.hidden_ND is not None:
            product_CW = power_CP @ self.factors.table_PW
            scaled_CW = product_CW * scale_C[:, None]
            self.hidden_ND[place] = scaled_CW[:, : self.factors.width]
        if self.table_PW is not None:
            hidden_CW = (self.factors.hidden_NW[place] * scale_C[:, None]).to(power_CP.dtype)
            self.table_PW += wide_product(power_CP.T, hidden_CW)

    def smooth(self, asked: _Asked) -> None:
        """Takes off what label smoothing asks of every piece alike, at every position."""
        factors, dtype = self.factors, self.factors.statistics_dtype
        share_N = asked.counted(torch.full_like(asked.target_N, asked.label_smoothing, dtype=dtype))
        if self.hidden_ND is not None:
            self.hidden_ND -= share_N[:, None] * factors.mean_row()[: factors.width]
        if self.table_PW is not None:
            self.table_PW -= share_N @ factors.hidden_NW.to(dtype) / factors.num_pieces


def wide_product(one: Tensor, other: Tensor) -> Tensor:
    """Returns a product in single precision at least, whatever its factors are."""
    dtype = torch.promote_types(one.dtype, torch.float32)
    if one.is_cuda and dtype != one.dtype:
        return torch.mm(one, other, out_dtype=dtype)
    return one.to(dtype) @ other.to(dtype)


def _losses(factors: _Factors, asked: _Asked, gradients: _Gradients | None) -> Tensor:
    """Returns the loss of each position, and adds to the gradients on the way. Shape (N,)."""
    target_N, _, label_smoothing = asked
    loss_N = factors.hidden_NW.new_empty(len(target_N), dtype=factors.statistics_dtype)
    aim = Aim(factors.num_pieces, 1 - label_smoothing)
    # Types are chosen by now; autocast would choose them once more, otherwise.
    with torch.autocast(loss_N.device.type, enabled=False):
        for place, power_CP in factors.chunks():
            hidden_CW, target_C = factors.hidden_NW[place], target_N[place]
            loss_N[place], scale_C = write_exponentials(
                hidden_CW, factors.table_PW, target_C, aim, power_CP
            )
            if gradients is not None:
                gradients.add(place, power_CP, asked.counted(scale_C, place))
        if label_smoothing:
            # The mean logit of a position is its product with the mean row.
            loss_N -= label_smoothing * (factors.hidden_NW.to(loss_N.dtype) @ factors.mean_row())
            if gradients is not None:
                gradients.smooth(asked)
    return asked.counted(loss_N)


class _FoldedLoss(torch.autograd.Function):
    """The summed loss, which makes its gradients on the way and only scales them later."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_ND: Tensor,
        weight_VD: Tensor,
        bias_V: Tensor | None,
        asked: _Asked,
    ) -> Tensor:
        """Returns the loss."""
        factors = _Factors.of(hidden_ND, weight_VD, bias_V)
        gradients = _Gradients(factors, ctx.needs_input_grad[:3])
        loss_N = _losses(factors, asked, gradients)
        ctx.shape = weight_VD.shape
        ctx.dtypes = [None if x is None else x.dtype for x in (hidden_ND, weight_VD, bias_V)]
        ctx.save_for_backward(gradients.hidden_ND, gradients.table_PW)
        return loss_N.sum()

    @staticmethod
    @made_once
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        """Scales the gradients by that of the loss."""
        hidden_ND, table_PW = ctx.saved_tensors
        (num_pieces, width), wanted = ctx.shape, ctx.needs_input_grad
        parts: list[Tensor | None] = [
            hidden_ND,
            table_PW[:num_pieces, :width] if wanted[1] else None,
            table_PW[:num_pieces, width] if wanted[2] else None,
        ]
        scaled = [
            None if part is None else (part * scale).to(dtype)
            for part, dtype in zip(parts, ctx.dtypes, strict=True)
        ]
        return *scaled, None
