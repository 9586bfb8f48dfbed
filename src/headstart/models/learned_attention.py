"""Attention of a text over itself by compiled code, where a processor learns in single precision.

PyTorch's fused kernel reads queries, keys and values apart, and their gradients have to be put
together again; `kernels/attention.c` takes them as one product leaves them, does nothing for
padding or for a causal text's future, and keeps a head of one text in one core's cache.

Legend: B batch, T positions, E three times the width, D width, H heads.
"""

from ctypes import byref
from typing import NamedTuple

import torch
from torch import Tensor

from headstart.models.kernels.attention import BatchFields
from headstart.models.kernels.library import address_of, kernels_in_use
from headstart.models.masks import Visibility

# Of narrower heads most time goes into exponentials, at which PyTorch is as fast; unless half of
# them need not be done.
NARROWEST_HEAD = 64


def is_known(visibility: Visibility) -> bool:
    """Whether compiled code can tell what is visible."""
    return visibility.num_real_B is not None or visibility.may_attend_B1TS is None


def is_faster(head_width: int, visibility: Visibility) -> bool:
    """Whether compiled code attends to it in less time than PyTorch does."""
    return visibility.is_causal or head_width >= NARROWEST_HEAD


class Mix(NamedTuple):
    """What positions took of all that they may see, and what the gradient of it needs."""

    joint_BTE: Tensor
    """Queries, keys and values side by side."""
    mixed_BTD: Tensor
    log_total_BHT: Tensor
    """The logarithm of what each position's exponentials add up to."""


def mix(joint_BTE: Tensor, bias_E: Tensor | None, num_heads: int, visibility: Visibility) -> Mix:
    """Returns softmax(QKᵀ/√K)V of queries, keys and values, which get their bias in place.

    Where rows are padded, what padding takes of others is 0; but a row of nothing else has its
    first take of itself.
    """
    num_rows, length, triple = joint_BTE.shape
    found = Mix(
        joint_BTE,
        joint_BTE.new_empty(num_rows, length, triple // 3),
        joint_BTE.new_empty(num_rows, num_heads, length),
    )
    batch = _Batch(found, visibility)
    batch.fields.bias = address_of(bias_E)
    batch.kernels.attend_forward(byref(batch.fields))
    return found


def unmix(found: Mix, visibility: Visibility, gradient_BTD: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the gradients of queries, keys and values, and of their bias."""
    joint_gradient_BTE = torch.empty_like(found.joint_BTE)
    num_rows, _, triple = found.joint_BTE.shape
    bias_gradient_BE = gradient_BTD.new_empty(num_rows, triple)
    batch = _Batch(found, visibility)
    batch.fields.mixed_gradient = gradient_BTD.data_ptr()
    batch.fields.joint_gradient = joint_gradient_BTE.data_ptr()
    batch.fields.bias_gradients = bias_gradient_BE.data_ptr()
    batch.kernels.attend_backward(byref(batch.fields))
    return joint_gradient_BTE, bias_gradient_BE.sum(dim=0)


class _Batch:
    """The tensors of one call, as the compiled code takes them."""

    def __init__(self, found: Mix, visibility: Visibility) -> None:
        num_rows, num_heads, length = found.log_total_BHT.shape
        head_width = found.mixed_BTD.shape[2] // num_heads
        num_threads = torch.get_num_threads()
        self.kernels = kernels = kernels_in_use()
        # Held, since the fields only know where they lie.
        self.num_real_B = as_lengths(visibility.num_real_B, num_rows, length)
        self.scratch = found.joint_BTE.new_empty(
            num_threads * kernels.thread_scratch_size(length, head_width)
        )
        self.fields = BatchFields(
            joint=found.joint_BTE.data_ptr(),
            lengths=address_of(self.num_real_B),
            mixed=found.mixed_BTD.data_ptr(),
            log_totals=found.log_total_BHT.data_ptr(),
            num_texts=num_rows,
            num_positions=length,
            num_heads=num_heads,
            head_width=head_width,
            scratch=self.scratch.data_ptr(),
            num_threads=num_threads,
            is_causal=visibility.is_causal,
        )


def as_lengths(num_real_B: Tensor | None, num_rows: int, length: int) -> Tensor | None:
    """Returns how many positions of each row may be seen, as compiled code reads it."""
    if num_real_B is None:
        return None
    # The first padding of an empty row attends to itself, as masks have it.
    return num_real_B.long().clamp(min=min(1, length)).expand(num_rows).contiguous()
