"""The one pass over a chunk of logits by compiled code, where a processor computes them.

A position's logits are read once and its gradient written once, between the products that make the
one and use the other; the bias is added on the way, and its gradient is added up there.

Legend: C positions of a chunk, P pieces and padding, V pieces, T threads.
"""

from ctypes import byref
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from headstart.models.kernels.library import address_of, is_watched, threaded_kernels
from headstart.models.kernels.vocabulary import VocabularyFields

# What logits may be in: single precision, and the half that is the upper half of it.
KNOWN_TYPES = {torch.float32, torch.bfloat16}


def pass_kernels(device: torch.device, dtype: torch.dtype) -> Any | None:
    """Returns the compiled functions for logits of a type on a device, if there are any."""
    is_known = device.type == "cpu" and dtype in KNOWN_TYPES and not is_watched()
    return threaded_kernels() if is_known else None


@dataclass(frozen=True)
class CompiledPass:
    """What is the same for all chunks."""

    kernels: Any
    bias_V: Tensor | None
    num_pieces: int
    label_smoothing: float

    product_bias_V = None
    """What the product that makes logits adds to them: nothing, which is faster in half."""

    def losses(self, logits_CP: Tensor, target_C: Tensor) -> Tensor:
        """Returns the loss of each position, and makes no gradient. Shape (C,)."""
        return self._answer(logits_CP, target_C, is_learning=False)

    def differentiate(
        self,
        logits_CP: Tensor,
        target_C: Tensor,
        counted_C: Tensor | None,
        bias_gradient_TV: Tensor | None,
    ) -> Tensor:
        """Returns the losses; leaves the gradient by the logits in their place. Shape (C,)."""
        counted_C = None if counted_C is None else counted_C.float().contiguous()
        return self._answer(logits_CP, target_C, counted_C, bias_gradient_TV, is_learning=True)

    def new_bias_gradients(self, like: Tensor) -> Tensor:
        """Returns room for what each thread adds to the gradient of the bias. Shape (T, V)."""
        return like.new_zeros(torch.get_num_threads(), self.num_pieces, dtype=torch.float32)

    def _answer(
        self,
        logits_CP: Tensor,
        target_C: Tensor,
        counted_C: Tensor | None = None,
        bias_gradient_TV: Tensor | None = None,
        *,
        is_learning: bool,
    ) -> Tensor:
        """Does the pass."""
        num_rows, row_size = logits_CP.shape
        num_threads = torch.get_num_threads()
        is_half = logits_CP.dtype == torch.bfloat16
        target_C = target_C.long().contiguous()
        lowest, highest = (int(target) for target in target_C.aminmax())
        if lowest < 0 or highest >= self.num_pieces:
            raise IndexError(f"targets go from {lowest} to {highest}, of {self.num_pieces} pieces")
        # Whatever numbers are made as by default: compiled code knows these.
        room = partial(torch.empty, dtype=torch.float32, device="cpu")
        loss_C = room(num_rows)
        scratch_TP = room(num_threads, row_size) if is_half else None
        fields = VocabularyFields(
            logits=logits_CP.data_ptr(),
            bias=address_of(self.bias_V),
            targets=target_C.data_ptr(),
            counted=address_of(counted_C),
            losses=loss_C.data_ptr(),
            bias_gradients=address_of(bias_gradient_TV),
            scratch=address_of(scratch_TP),
            smoothing=self.label_smoothing,
            is_half=is_half,
            is_learning=is_learning,
            num_rows=num_rows,
            num_pieces=self.num_pieces,
            row_size=row_size,
            num_parts=num_threads,
        )
        self.kernels.answer(byref(fields))
        return loss_C
