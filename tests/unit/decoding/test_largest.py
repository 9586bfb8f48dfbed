"""The largest numbers are those of sorting, whatever the length of rows."""

import pytest
import torch

from headstart.decoding.largest import largest


@pytest.mark.parametrize("num_values", [5, 511, 512, 1_023, 1_024, 1_031, 2_000, 8_003])
@pytest.mark.parametrize("count", [1, 3, 5])
def test_largest_are_those_of_sorting(num_values, count):
    generator = torch.Generator().manual_seed(num_values)
    values = torch.randn(7, 3, num_values, generator=generator)
    values[0, 0, -count:] = 9 + torch.arange(count).float()
    best, place = largest(values, count)
    expected, order = values.sort(dim=-1, descending=True)
    assert torch.equal(best, expected[..., :count])
    assert torch.equal(place, order[..., :count])


def test_impossible_numbers_are_taken_where_nothing_else_is_left():
    values = torch.full((2, 3_000), -torch.inf)
    values[:, 1_234] = 1.0
    best, place = largest(values, 4)
    assert best.tolist() == [[1.0, -torch.inf, -torch.inf, -torch.inf]] * 2
    assert place[:, 0].tolist() == [1_234] * 2
    assert (place < 3_000).all()
