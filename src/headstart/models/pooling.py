"""One vector for a whole text, from the vectors of its real positions.

Legend: B batch, T positions, D width, N positions of groups, G groups. A text of nothing but
padding gives zeros.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor


def last(hidden_BTD: Tensor, is_token_BT: Tensor) -> Tensor:
    """The last real position: the only one of a causal trunk that has read everything."""
    is_last_BT = is_token_BT & (is_token_BT.flip(1).cumsum(dim=1).flip(1) == 1)
    return mean(hidden_BTD, is_last_BT)


def first(hidden_BTD: Tensor, is_token_BT: Tensor) -> Tensor:
    """The first real position, where BERT gathers its text."""
    is_first_BT = is_token_BT & (is_token_BT.cumsum(dim=1) == 1)
    return mean(hidden_BTD, is_first_BT)


def mean(hidden_BTD: Tensor, is_token_BT: Tensor) -> Tensor:
    """The average of the real positions."""
    # Where, not a product: what stands in padding may be infinite and must not come through.
    real_BTD = torch.where(is_token_BT[:, :, None], hidden_BTD, 0)
    num_tokens_B = is_token_BT.sum(dim=1).clamp(min=1)
    return real_BTD.sum(dim=1) / num_tokens_B[:, None]


def by_group(hidden_BTD: Tensor, group_BT: Tensor, num_groups: int) -> Tensor:
    """The average of each group's positions, such as those of a word. Shape (groups, D).

    Groups are numbered through all rows; a position of none has a number below 0.
    """
    is_grouped_BT = group_BT >= 0
    vector_ND, group_N = hidden_BTD[is_grouped_BT], group_BT[is_grouped_BT]
    sum_GD = vector_ND.new_zeros(num_groups, vector_ND.shape[1]).index_add(0, group_N, vector_ND)
    return sum_GD / group_N.bincount(minlength=num_groups).clamp(min=1)[:, None]


POOLINGS: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "last": last,
    "mean": mean,
    "first": first,
}
