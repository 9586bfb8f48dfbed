"""The largest numbers of long rows, found faster than by sorting. Legend: V numbers of a row."""

import torch
from torch import Tensor

# Numbers that are looked at as one at first; few, so that little is looked at twice.
GROUP_SIZE = 8
# Shorter rows are sorted sooner than grouped.
SHORTEST_GROUPED = 512


def largest(value_V: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Returns the `count` largest numbers along the last axis, best first, and their places.

    Each of them is in one of the `count` groups with the largest maxima, so that only these are
    looked into.
    """
    num_values = value_V.shape[-1]
    if num_values < max(SHORTEST_GROUPED, 2 * GROUP_SIZE * count):
        return torch.topk(value_V, count, dim=-1)
    num_groups = num_values // GROUP_SIZE
    # A group is spread over the row, so that maxima are taken of whole stretches side by side.
    whole = value_V[..., : GROUP_SIZE * num_groups]
    grouped = whole.reshape(*value_V.shape[:-1], GROUP_SIZE, num_groups)
    _, group = largest(grouped.amax(dim=-2), count)
    firsts = torch.arange(GROUP_SIZE, device=value_V.device)[:, None] * num_groups
    place = (group[..., None, :] + firsts).flatten(-2)
    rest = torch.arange(GROUP_SIZE * num_groups, num_values, device=value_V.device)
    place = torch.cat([place, rest.expand(*place.shape[:-1], -1)], dim=-1)
    best, index = value_V.gather(-1, place).topk(count, dim=-1)
    return best, place.gather(-1, index)
