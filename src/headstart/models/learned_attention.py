"""Attention of a text over itself by compiled code, where a processor learns in single precision.

PyTorch's fused kernel reads queries, keys and values apart, and their gradients have to be put
together again; `kernels/attention.c` takes them as one product leaves them, does nothing for
padding or for a causal text's future, and keeps a head of one text in one core's cache.

Legend: B batch, T positions, E three times the width, D width, H heads.
"""

from ctypes import byref
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from headstart.models.kernels.attention import BatchFields
from headstart.models.kernels.library import compiled_kernels, serves_learning
from headstart.models.masks import Visibility

# Of narrower heads most time goes into exponentials, at which PyTorch is as fast; unless half of
# them need not be done.
NARROWEST_HEAD = 64


def can_attend_jointly(hidden_BTD: Tensor, num_heads: int, visibility: Visibility) -> bool:
    """Whether compiled code attends to all that is visible, and something is learned from it."""
    is_known = visibility.num_real_B is not None or visibility.may_attend_B1TS is None
    is_faster = visibility.is_causal or hidden_BTD.shape[-1] // num_heads >= NARROWEST_HEAD
    return is_known and is_faster and serves_learning(hidden_BTD)


def attend_jointly(joint_BTE: Tensor, num_heads: int, visibility: Visibility) -> Tensor:
    """Returns softmax(QKᵀ/√K)V of queries, keys and values that lie side by side. (B, T, D).

    Where rows are padded, what padding takes of others is 0.
    """
    mixed_BTD: Tensor = _JointAttention.apply(joint_BTE, num_heads, visibility)  # type: ignore[no-untyped-call]
    return mixed_BTD


class _JointAttention(torch.autograd.Function):
    """Attention whose gradient is one tensor, as the product before it wants it."""

    @staticmethod
    def forward(ctx: Any, joint_BTE: Tensor, num_heads: int, visibility: Visibility) -> Tensor:
        """Returns what each position takes of all that it may see."""
        joint_BTE = joint_BTE.contiguous()
        num_rows, length, triple = joint_BTE.shape
        mixed_BTD = joint_BTE.new_empty(num_rows, length, triple // 3)
        log_total_BHT = joint_BTE.new_empty(num_rows, num_heads, length)
        ctx.save_for_backward(joint_BTE, mixed_BTD, log_total_BHT)
        ctx.visibility = visibility
        _Batch(joint_BTE, mixed_BTD, log_total_BHT, visibility).attend_forward()
        return mixed_BTD

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_BTD: Tensor) -> tuple[Tensor, None, None]:
        """Returns the gradient of queries, keys and values."""
        joint_BTE, mixed_BTD, log_total_BHT = ctx.saved_tensors
        joint_gradient_BTE = torch.empty_like(joint_BTE)
        batch = _Batch(joint_BTE, mixed_BTD, log_total_BHT, ctx.visibility)
        batch.attend_backward(gradient_BTD.contiguous(), joint_gradient_BTE)
        return joint_gradient_BTE, None, None


class _Batch:
    """The tensors of one call, as the compiled code takes them."""

    def __init__(
        self, joint_BTE: Tensor, mixed_BTD: Tensor, log_total_BHT: Tensor, visibility: Visibility
    ) -> None:
        num_rows, num_heads, length = log_total_BHT.shape
        head_width = mixed_BTD.shape[2] // num_heads
        num_threads, num_real_B = torch.get_num_threads(), visibility.num_real_B
        kernels: Any = compiled_kernels()
        self.kernels = kernels
        # Held, since the fields only know where it lies.
        self.scratch = joint_BTE.new_empty(
            num_threads * kernels.thread_scratch_size(length, head_width)
        )
        self.fields = BatchFields(
            joint=joint_BTE.data_ptr(),
            lengths=None if num_real_B is None else num_real_B.data_ptr(),
            mixed=mixed_BTD.data_ptr(),
            log_totals=log_total_BHT.data_ptr(),
            num_texts=num_rows,
            num_positions=length,
            num_heads=num_heads,
            head_width=head_width,
            scratch=self.scratch.data_ptr(),
            num_threads=num_threads,
            is_causal=visibility.is_causal,
        )

    def attend_forward(self) -> None:
        """Fills what is mixed."""
        self.kernels.attend_forward(byref(self.fields))

    def attend_backward(self, gradient_BTD: Tensor, joint_gradient_BTE: Tensor) -> None:
        """Fills the gradient of queries, keys and values."""
        self.fields.mixed_gradient = gradient_BTD.data_ptr()
        self.fields.joint_gradient = joint_gradient_BTE.data_ptr()
        self.kernels.attend_backward(byref(self.fields))
