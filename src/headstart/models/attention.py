"""Multi-head attention, of a text over itself and of one text over another.

Legend: B batch, T positions asking, S positions answering, D width, H heads, K width of a head.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from headstart.models.config import LayerConfig
from headstart.models.layouts import Linear
from headstart.models.masks import Visibility, causal
from headstart.models.positions import Rotation, rotate

# What a row of a head must be a multiple of, for PyTorch's fused kernels on a GPU.
FUSED_BYTES = 16
# How many times a head's width a row may have positions to count as short.
MOST_KEYS_PER_WIDTH = 4
# How many keys cuDNN reads at once. Where there is a mask and half of the last such tile is empty,
# queries whose scores are all far below zero have gradients of NaN in PyTorch 2.11 to 2.13
# (pytorch/pytorch#196678). Code for any length is compiled once more for such lengths.
CUDNN_TILE = 128
KERNELS_BESIDE_CUDNN = [
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
]


class KeysAndValues(NamedTuple):
    """What the positions that answer are asked by, and what they answer."""

    key_BHSK: Tensor
    value_BHSK: Tensor


def split_heads(vector_BTD: Tensor, num_heads: int) -> Tensor:
    """Cuts each vector into one slice a head. Shape (B, H, T, K)."""
    return vector_BTD.view(*vector_BTD.shape[:2], num_heads, -1).transpose(1, 2)


def join_heads(vector_BHTK: Tensor) -> Tensor:
    """Puts the slices of the heads side by side again. Shape (B, T, D)."""
    return vector_BHTK.transpose(1, 2).flatten(2)


def attend(
    query_BHTK: Tensor, key_BHSK: Tensor, value_BHSK: Tensor, visibility: Visibility
) -> Tensor:
    """Returns softmax(QKᵀ/√K)V over what is visible, by PyTorch's fused kernels where they help."""
    if is_too_odd(query_BHTK, visibility):
        return attend_padded(query_BHTK, key_BHSK, value_BHSK, visibility)
    if is_short_in_half(query_BHTK, key_BHSK):
        score_BHTS = attention_scores(query_BHTK, key_BHSK, visibility)
        return softmax_in_half(score_BHTS) @ value_BHSK
    return attend_fused(query_BHTK, key_BHSK, value_BHSK, visibility)


def attend_fused(
    query_BHTK: Tensor,
    key_BHSK: Tensor,
    value_BHSK: Tensor,
    visibility: Visibility,
    scale: float | None = None,
) -> Tensor:
    """Returns the same by the kernel that PyTorch chooses, among those that give true gradients."""

    def attended() -> Tensor:
        return F.scaled_dot_product_attention(
            query_BHTK,
            key_BHSK,
            value_BHSK,
            attn_mask=mask_of(visibility),
            is_causal=visibility.is_causal,
            scale=scale,
        )

    if cudnn_may_fail(query_BHTK, key_BHSK, visibility):
        with sdpa_kernel(KERNELS_BESIDE_CUDNN):
            return attended()
    return attended()


def cudnn_may_fail(query_BHTK: Tensor, key_BHSK: Tensor, visibility: Visibility) -> bool:
    """Whether gradients of cuDNN's attention may be NaN for so many keys."""
    has_mask = visibility.may_attend_B1TS is not None
    is_half_a_tile = key_BHSK.shape[2] % CUDNN_TILE == CUDNN_TILE // 2
    return query_BHTK.is_cuda and query_BHTK.requires_grad and has_mask and is_half_a_tile


def mask_of(visibility: Visibility) -> Tensor | None:
    """Returns what a fused kernel is told of what is visible, made ready where that was done."""
    bias_B1TS = None if visibility.is_causal else visibility.bias_B1TS
    return visibility.may_attend_B1TS if bias_B1TS is None else bias_B1TS


def is_too_odd(query_BHTK: Tensor, visibility: Visibility) -> bool:
    """Whether heads have a width that a GPU's fused kernels refuse where there is a mask.

    PyTorch would hold all weights of all heads then. Without a mask it pads them by itself.
    """
    has_odd_rows = query_BHTK.shape[-1] * query_BHTK.element_size() % FUSED_BYTES != 0
    return query_BHTK.is_cuda and has_odd_rows and visibility.may_attend_B1TS is not None


def is_short_in_half(query_BHTK: Tensor, key_BHSK: Tensor) -> bool:
    """Whether a processor attends to short rows in half precision.

    Plain products take half the time of its fused kernel then, and the weights that they keep take
    about as much as half precision saves elsewhere in a layer.
    """
    is_half = query_BHTK.dtype == torch.bfloat16 and not query_BHTK.is_cuda
    return is_half and key_BHSK.shape[2] <= MOST_KEYS_PER_WIDTH * key_BHSK.shape[3]


def softmax_in_half(score_BHTS: Tensor) -> Tensor:
    """Returns the softmax of scores in their own precision, which is all that a product takes.

    Sums are in single precision either way; autocast would only write that down too.
    """
    with torch.autocast("cpu", enabled=False):
        return score_BHTS.softmax(dim=-1)


def attend_padded(
    query_BHTK: Tensor, key_BHSK: Tensor, value_BHSK: Tensor, visibility: Visibility
) -> Tensor:
    """Returns the same over heads that zeros make wide enough: they add nothing to any product."""
    width = query_BHTK.shape[-1]
    missing = -width % (FUSED_BYTES // query_BHTK.element_size())
    mixed_BHTK = attend_fused(
        F.pad(query_BHTK, (0, missing)),
        F.pad(key_BHSK, (0, missing)),
        F.pad(value_BHSK, (0, missing)),
        visibility,
        scale=1 / math.sqrt(width),
    )
    return mixed_BHTK[..., :width]


def attention_weights(query_BHTK: Tensor, key_BHSK: Tensor, visibility: Visibility) -> Tensor:
    """Returns softmax(QKᵀ/√K) over what is visible; fused kernels never hold it. (B, H, T, S)."""
    score_BHTS = attention_scores(query_BHTK, key_BHSK, visibility)
    return score_BHTS.softmax(dim=-1, dtype=torch.promote_types(score_BHTS.dtype, torch.float32))


def attention_scores(query_BHTK: Tensor, key_BHSK: Tensor, visibility: Visibility) -> Tensor:
    """Returns QKᵀ/√K, minus infinity where nothing is visible. Shape (B, H, T, S)."""
    share = 1 / math.sqrt(query_BHTK.shape[-1])
    product_BHTS = query_BHTK @ key_BHSK.transpose(2, 3)
    if visibility.bias_B1TS is not None:
        return torch.add(visibility.bias_B1TS, product_BHTS, alpha=share)
    may_attend = visibility.may_attend_B1TS
    if visibility.is_causal:
        may_attend = causal(product_BHTS.shape[-1], product_BHTS.device)
    score_BHTS = product_BHTS.mul_(share)
    return score_BHTS if may_attend is None else score_BHTS.masked_fill_(~may_attend, -math.inf)


class SelfAttention(nn.Module):
    """Attention of x over x: queries, keys and values from the same vectors, by one product."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        # One wide product is faster than three narrow ones.
        self.query_key_value = Linear(config.width, 3 * config.width, bias=config.has_bias)
        self.output = Linear(config.width, config.width, bias=config.has_bias)

    def forward(
        self, hidden_BTD: Tensor, visibility: Visibility, rotation: Rotation | None
    ) -> Tensor:
        """Returns, for each position, the mix of what it may attend to."""
        query_BHTK, answers = self._project(hidden_BTD, rotation)
        return self._mix(query_BHTK, answers, visibility)

    def at(
        self,
        place_B: Tensor,
        asking_B1D: Tensor,
        answering_BTD: Tensor,
        visibility: Visibility,
        rotation: Rotation | None,
    ) -> Tensor:
        """Returns the mix for one position of each row, which alone asks. Shape (B, 1, D).

        What answers is mixed before it becomes values, which is one product a row and not one a
        position.
        """
        width = answering_BTD.shape[-1]
        score_BHT = self._scores_at(place_B, asking_B1D, answering_BTD, rotation)
        may_attend_B1T = visibility.at(place_B, answering_BTD.shape[1])
        if may_attend_B1T is not None:
            score_BHT = score_BHT.masked_fill(~may_attend_B1T, -math.inf)
        mixed_BHD = score_BHT.softmax(dim=-1).to(answering_BTD.dtype) @ answering_BTD
        value_HKD = self._heads_of_weights(2 * width)
        value_B1D = torch.einsum("bhd,hkd->bhk", mixed_BHD, value_HKD).flatten(1)[:, None]
        bias = self.query_key_value.bias
        output_B1D: Tensor = self.output(
            value_B1D if bias is None else value_B1D + bias[2 * width :]
        )
        return output_B1D

    def _scores_at(
        self,
        place_B: Tensor,
        asking_B1D: Tensor,
        answering_BTD: Tensor,
        rotation: Rotation | None,
    ) -> Tensor:
        """Returns how well each position answers the one that asks. Shape (B, H, T).

        Where nothing is turned by its position, the query goes back through the weights of keys,
        which again is one product a row. Their bias adds the same to all scores, and so nothing.
        """
        width = answering_BTD.shape[-1]
        query_BH1K = split_heads(self.query_key_value.outputs(asking_B1D, 0, width), self.num_heads)
        share = 1 / math.sqrt(query_BH1K.shape[-1])
        if rotation is None:
            key_HKD = self._heads_of_weights(width)
            wanted_BHD = torch.einsum("bhk,hkd->bhd", query_BH1K[:, :, 0] * share, key_HKD)
            return wanted_BHD @ answering_BTD.transpose(1, 2)
        key_BTD = self.query_key_value.outputs(answering_BTD, width, 2 * width)
        key_BHTK = rotate(split_heads(key_BTD, self.num_heads), rotation)
        query_BH1K = rotate(query_BH1K, rotation.at(place_B)) * share
        return (query_BH1K @ key_BHTK.transpose(2, 3))[:, :, 0]

    def _heads_of_weights(self, begin: int) -> Tensor:
        """Returns the weights that lead to queries, keys or values, by head. Shape (H, K, D)."""
        width = self.query_key_value.in_features
        rows = self.query_key_value.weight[begin : begin + width]
        return rows.view(self.num_heads, -1, width)

    def weights(
        self, hidden_BTD: Tensor, visibility: Visibility, rotation: Rotation | None
    ) -> Tensor:
        """Returns how much each position takes of each other, head by head. (B, H, T, T)."""
        query_BHTK, answers = self._project(hidden_BTD, rotation)
        return attention_weights(query_BHTK, answers.key_BHSK, visibility)

    def extend(
        self,
        hidden_BTD: Tensor,
        visibility: Visibility,
        rotation: Rotation | None,
        keep: Callable[[KeysAndValues], KeysAndValues],
    ) -> Tensor:
        """Returns the mix for new positions, which may attend to all that `keep` returns."""
        query_BHTK, answers = self._project(hidden_BTD, rotation)
        return self._mix(query_BHTK, keep(answers), visibility)

    def _project(
        self, hidden_BTD: Tensor, rotation: Rotation | None
    ) -> tuple[Tensor, KeysAndValues]:
        """Returns what each position asks, and what it answers."""
        query_BHTK, key_BHTK, value_BHTK = (
            split_heads(part_BTD, self.num_heads)
            for part_BTD in self.query_key_value(hidden_BTD).chunk(3, dim=-1)
        )
        if rotation is not None:
            query_BHTK, key_BHTK = rotate(query_BHTK, rotation), rotate(key_BHTK, rotation)
        return query_BHTK, KeysAndValues(key_BHTK, value_BHTK)

    def _mix(self, query_BHTK: Tensor, answers: KeysAndValues, visibility: Visibility) -> Tensor:
        """Returns the visible answers as each position weighs them."""
        mixed_BTD: Tensor = self.output(join_heads(attend(query_BHTK, *answers, visibility)))
        return mixed_BTD


class CrossAttention(nn.Module):
    """Attention of y over x: queries from y, keys and values from x."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        self.query = Linear(config.width, config.width, bias=config.has_bias)
        self.key_value = Linear(config.width, 2 * config.width, bias=config.has_bias)
        self.output = Linear(config.width, config.width, bias=config.has_bias)

    def forward(self, hidden_BTD: Tensor, source_BSD: Tensor, visibility: Visibility) -> Tensor:
        """Returns, for each position of y, the mix of the visible positions of x."""
        return self.ask(hidden_BTD, self.answers(source_BSD), visibility)

    def weights(self, hidden_BTD: Tensor, source_BSD: Tensor, visibility: Visibility) -> Tensor:
        """Returns how much each position of y takes of each of x, head by head. (B, H, T, S)."""
        query_BHTK = split_heads(self.query(hidden_BTD), self.num_heads)
        return attention_weights(query_BHTK, self.answers(source_BSD).key_BHSK, visibility)

    def answers(self, source_BSD: Tensor) -> KeysAndValues:
        """Returns what x answers, which is the same for all that y will ever ask."""
        key_BSD, value_BSD = self.key_value(source_BSD).chunk(2, dim=-1)
        return KeysAndValues(
            split_heads(key_BSD, self.num_heads), split_heads(value_BSD, self.num_heads)
        )

    def ask(self, hidden_BTD: Tensor, answers: KeysAndValues, visibility: Visibility) -> Tensor:
        """Returns, for each position of y, the mix of the visible answers."""
        query_BHTK = split_heads(self.query(hidden_BTD), self.num_heads)
        mixed_BTD: Tensor = self.output(join_heads(attend(query_BHTK, *answers, visibility)))
        return mixed_BTD
