"""The branches of a layer that learns on a processor in single precision, each one node of a graph.

Products are PyTorch's own. What stands between them is compiled code that is told the biases, so
that nothing passes over memory for those alone; and where two gradients meet, the product that
makes the second adds it to the first. What a branch means is said by `blocks.py`.

Legend: B batch, T positions, N positions of all rows, D width, E three times the width, F inner
width.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headstart.models.attention import SelfAttention
from headstart.models.dropout import Dropout
from headstart.models.feed_forward import FeedForward
from headstart.models.gradients import made_once
from headstart.models.kernels.library import is_plain, serves_learning
from headstart.models.layouts import Linear
from headstart.models.learned_attention import Mix, is_faster, is_known, mix, unmix
from headstart.models.learned_dropout import Dropping
from headstart.models.learned_relu import bend, unbend
from headstart.models.learned_residual import Norming, SumGradients, normed_sum, unnormed
from headstart.models.listeners import is_heard, is_heard_everywhere
from headstart.models.masks import Visibility


class Sum(NamedTuple):
    """What makes a sum of vectors and what a branch makes of them."""

    dropout: nn.Module
    norm: nn.Module


def can_attend_as_one(
    attention: SelfAttention, after: Sum, hidden_BTD: Tensor, visibility: Visibility
) -> bool:
    """Whether something is learned by attention that compiled code knows."""
    if not serves_learning(hidden_BTD) or not is_known(visibility):
        return False
    if type(attention) is not SelfAttention:
        return False
    width = hidden_BTD.shape[-1]
    products = attention.query_key_value, attention.output
    return is_faster(width // attention.num_heads, visibility) and are_plain(
        attention, after, products, width
    )


def can_feed_as_one(feed_forward: nn.Module, after: Sum, hidden_BTD: Tensor) -> bool:
    """Whether something is learned by a feed-forward that is one of these."""
    if not serves_learning(hidden_BTD) or type(feed_forward) is not FeedForward:
        return False
    products = feed_forward.inner, feed_forward.output
    is_bent = feed_forward.activation in {F.relu, F.gelu}
    return is_bent and are_plain(feed_forward, after, products, hidden_BTD.shape[-1])


def are_plain(branch: nn.Module, after: Sum, products: Sequence[nn.Linear], width: int) -> bool:
    """Whether a branch has the parts it was made with, and nobody listens to any of them."""
    norm = after.norm
    is_usual = (
        type(norm) is nn.LayerNorm
        and norm.elementwise_affine
        and norm.normalized_shape == (width,)
        and type(after.dropout) is Dropout
        and all(type(part) is Linear for part in products)
        # What a branch ends with is added to vectors of the same width.
        and len(products[-1].weight) == width
    )
    return (
        is_usual
        and not is_heard_everywhere()
        and not any(
            is_heard(part) or not lies_plainly(part) for part in (branch, *after, *products)
        )
    )


def lies_plainly(part: nn.Module) -> bool:
    """Whether a part's own weights lie as compiled code reads them."""
    return all(
        is_plain(weights) and weights.is_contiguous()
        for weights in part._parameters.values()
        if weights is not None
    )


def attended_sum(
    attention: SelfAttention, after: Sum, hidden_BTD: Tensor, visibility: Visibility
) -> Tensor:
    """Returns vectors with what attention adds to them, normed. Shape (B, T, D)."""
    dropout, norm = after
    assert isinstance(dropout, Dropout)
    assert isinstance(norm, nn.LayerNorm)
    joint, output = attention.query_key_value, attention.output
    normed_BTD: Tensor = _AttendedSum.apply(  # type: ignore[no-untyped-call]
        hidden_BTD,
        *(joint.weight, joint.bias, output.weight, output.bias, norm.weight, norm.bias),
        AttentionSetting(attention.num_heads, visibility, dropout.new_dropping(), norm.eps),
    )
    return normed_BTD


def fed_sum(feed_forward: nn.Module, after: Sum, hidden_BTD: Tensor) -> Tensor:
    """Returns vectors with what a feed-forward adds to them, normed. Shape (B, T, D)."""
    dropout, norm = after
    assert isinstance(feed_forward, FeedForward)
    assert isinstance(dropout, Dropout)
    assert isinstance(norm, nn.LayerNorm)
    inner, output = feed_forward.inner, feed_forward.output
    is_relu = feed_forward.activation is F.relu
    normed_BTD: Tensor = _FedSum.apply(  # type: ignore[no-untyped-call]
        hidden_BTD,
        *(inner.weight, inner.bias, output.weight, output.bias, norm.weight, norm.bias),
        FeedSetting(is_relu, dropout.new_dropping(), norm.eps),
    )
    return normed_BTD


# Returns the gradients of what a node read, from that of what it answered.
Backward = Callable[[Any, Tensor], tuple[Tensor | None, ...]]


def in_single_precision(backward: Backward) -> Backward:
    """Has gradients made as vectors were, whatever precision they are asked for in."""

    @made_once
    def made_so(ctx: Any, gradient_BTD: Tensor) -> tuple[Tensor | None, ...]:
        with torch.autocast("cpu", enabled=False):
            return backward(ctx, gradient_BTD)

    return made_so


class AttentionSetting(NamedTuple):
    """What attention and the sum with it do that nothing learns."""

    num_heads: int
    visibility: Visibility
    dropping: Dropping
    epsilon: float


class FeedSetting(NamedTuple):
    """What a feed-forward and the sum with it do that nothing learns."""

    is_relu: bool
    dropping: Dropping
    epsilon: float


class FirstProduct(NamedTuple):
    """The product that a branch begins with, and the gradients of what it made and of its bias."""

    read_ND: Tensor
    weight: Tensor
    gradient: Tensor
    bias_gradient: Tensor


def branch_gradients(
    ctx: Any, first: FirstProduct, read_by_last: Tensor, of_sum: SumGradients
) -> tuple[Tensor | None, ...]:
    """Returns the gradients of what a branch read and of all that learns, where they are wanted."""
    _, wants_first, _, wants_last, *_ = ctx.needs_input_grad
    of_weights = (
        first.gradient.t() @ first.read_ND if wants_first else None,
        first.bias_gradient,
        of_sum.branch_ND.t() @ read_by_last if wants_last else None,
        of_sum.bias_D,
        of_sum.gain_D,
        of_sum.shift_D,
    )
    # Last, since it may lie where the branch's gradient does.
    hidden_gradient_ND = of_sum.hidden_ND.addmm_(first.gradient, first.weight)
    # Of a setting there is none.
    gradients = (hidden_gradient_ND.view(ctx.shape), *of_weights, None)
    return tuple(
        gradient if is_wanted else None
        for gradient, is_wanted in zip(gradients, ctx.needs_input_grad, strict=True)
    )


class _AttendedSum(torch.autograd.Function):
    """LayerNorm(x + dropout(attention(x)))."""

    @staticmethod
    def forward(  # noqa: PLR0913 - what learns has to be an argument
        ctx: Any,
        hidden_BTD: Tensor,
        joint_ED: Tensor,
        joint_bias_E: Tensor | None,
        output_DD: Tensor,
        output_bias_D: Tensor | None,
        gain_D: Tensor,
        shift_D: Tensor | None,
        setting: AttentionSetting,
    ) -> Tensor:
        """Returns the norm of the sum, and keeps what its gradients need."""
        hidden_BTD = hidden_BTD.contiguous()
        hidden_ND = hidden_BTD.flatten(0, 1)
        joint_BTE = (hidden_ND @ joint_ED.t()).view(*hidden_BTD.shape[:2], -1)
        found = mix(joint_BTE, joint_bias_E, setting.num_heads, setting.visibility)
        branch_ND = found.mixed_BTD.flatten(0, 1) @ output_DD.t()
        norming = Norming(output_bias_D, setting.dropping, gain_D, shift_D, setting.epsilon)
        normed_BTD, distance_ND, scale_N = normed_sum(hidden_BTD, branch_ND, norming)
        ctx.setting, ctx.shape = setting, hidden_BTD.shape
        ctx.save_for_backward(hidden_ND, joint_ED, output_DD, gain_D, *found, distance_ND, scale_N)
        return normed_BTD

    @staticmethod
    @in_single_precision
    def backward(ctx: Any, gradient_BTD: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of what is read and of all that learns."""
        hidden_ND, joint_ED, output_DD, gain_D, *rest = ctx.saved_tensors
        *kept_of_mix, distance_ND, scale_N = rest
        found = Mix(*kept_of_mix)
        setting = ctx.setting
        norming = Norming(None, setting.dropping, gain_D, None, setting.epsilon)
        of_sum = unnormed(rows_of(gradient_BTD), distance_ND, scale_N, norming)
        mixed_gradient_BTD = (of_sum.branch_ND @ output_DD).view_as(found.mixed_BTD)
        joint_gradient_BTE, joint_bias_E = unmix(found, setting.visibility, mixed_gradient_BTD)
        first = FirstProduct(hidden_ND, joint_ED, joint_gradient_BTE.flatten(0, 1), joint_bias_E)
        return branch_gradients(ctx, first, found.mixed_BTD.flatten(0, 1), of_sum)


class _FedSum(torch.autograd.Function):
    """LayerNorm(x + dropout(feed_forward(x)))."""

    @staticmethod
    def forward(  # noqa: PLR0913 - what learns has to be an argument
        ctx: Any,
        hidden_BTD: Tensor,
        inner_FD: Tensor,
        inner_bias_F: Tensor | None,
        output_DF: Tensor,
        output_bias_D: Tensor | None,
        gain_D: Tensor,
        shift_D: Tensor | None,
        setting: FeedSetting,
    ) -> Tensor:
        """Returns the norm of the sum, and keeps what its gradients need."""
        hidden_BTD = hidden_BTD.contiguous()
        hidden_ND = hidden_BTD.flatten(0, 1)
        inner_NF = hidden_ND @ inner_FD.t()
        if setting.is_relu:
            bend(inner_NF, inner_bias_F)
            bent_NF = inner_NF
        else:
            bent_NF = F.gelu(inner_NF if inner_bias_F is None else inner_NF.add_(inner_bias_F))
        branch_ND = bent_NF @ output_DF.t()
        norming = Norming(output_bias_D, setting.dropping, gain_D, shift_D, setting.epsilon)
        normed_BTD, distance_ND, scale_N = normed_sum(hidden_BTD, branch_ND, norming)
        ctx.setting, ctx.shape = setting, hidden_BTD.shape
        ctx.save_for_backward(
            *(hidden_ND, inner_FD, output_DF, gain_D),
            *(inner_NF, bent_NF, distance_ND, scale_N),
        )
        return normed_BTD

    @staticmethod
    @in_single_precision
    def backward(ctx: Any, gradient_BTD: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of what is read and of all that learns."""
        hidden_ND, inner_FD, output_DF, gain_D, *rest = ctx.saved_tensors
        inner_NF, bent_NF, distance_ND, scale_N = rest
        setting = ctx.setting
        norming = Norming(None, setting.dropping, gain_D, None, setting.epsilon)
        of_sum = unnormed(rows_of(gradient_BTD), distance_ND, scale_N, norming)
        inner_gradient_NF = of_sum.branch_ND @ output_DF
        if setting.is_relu:
            inner_bias_F = unbend(bent_NF, inner_gradient_NF)
        else:
            inner_gradient_NF = torch.ops.aten.gelu_backward(inner_gradient_NF, inner_NF)
            inner_bias_F = inner_gradient_NF.sum(dim=0)
        first = FirstProduct(hidden_ND, inner_FD, inner_gradient_NF, inner_bias_F)
        return branch_gradients(ctx, first, bent_NF, of_sum)


def rows_of(gradient_BTD: Tensor) -> Tensor:
    """Returns a vector after the other, as compiled code reads them. Shape (N, D)."""
    return gradient_BTD.flatten(0, 1).contiguous()
