"""One vector for a whole text, from the vectors of its real positions.

Legend: B batch, T positions, D width, N positions of groups, G groups. A text of nothing but
padding gives zeros.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor


def first_place(is_token_BT: Tensor) -> Tensor:
    """The first real position, where BERT gathers its text; any where there is none. Shape (B,)."""
    num_before_B = (is_token_BT.cumsum(dim=1) == 0).sum(dim=1)
    return num_before_B.clamp(max=is_token_BT.shape[1] - 1)


def last_place(is_token_BT: Tensor) -> Tensor:
    """The last real position, the only one of a causal trunk that has read all. Shape (B,)."""
    place_T = torch.arange(is_token_BT.shape[1], device=is_token_BT.device)
    return torch.where(is_token_BT, place_T, 0).amax(dim=1)


def at_places(vector_BTD: Tensor, place_B: Tensor) -> Tensor:
    """The vector of one position of each row. Shape (B, 1, D)."""
    row_B = torch.arange(len(place_B), device=place_B.device)
    return vector_BTD[row_B, place_B][:, None]


def where_real(vector_BD: Tensor, is_token_BT: Tensor) -> Tensor:
    """The vectors of texts, zeros for those of nothing but padding."""
    return torch.where(is_token_BT.any(dim=1)[:, None], vector_BD, 0)


def last(hidden_BTD: Tensor, is_token_BT: Tensor) -> Tensor:
    """The vector of the last real position."""
    return where_real(at_places(hidden_BTD, last_place(is_token_BT))[:, 0], is_token_BT)


def first(hidden_BTD: Tensor, is_token_BT: Tensor) -> Tensor:
    """The vector of the first real position."""
    return where_real(at_places(hidden_BTD, first_place(is_token_BT))[:, 0], is_token_BT)


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
# Of the poolings that take one position, which one that is.
PLACES: Mapping[str, Callable[[Tensor], Tensor]] = {"last": last_place, "first": first_place}
# The same where nothing is padding, counted from behind where it is below 0.
PLACES_WITHOUT_PADDING: Mapping[str, int] = {"last": -1, "first": 0}
