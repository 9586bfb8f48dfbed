"""One vector from a text's real positions, by numbers small enough to check by eye."""

import pytest
import torch
from torch import Tensor

from headstart.models.heads.config import LabelHeadConfig
from headstart.models.heads.label import LabelHead
from headstart.models.inputs import Text
from headstart.models.pooling import POOLINGS, by_group, first, last, mean

# Two rows of four positions, of vectors (1, -1), (2, -2), (3, -3), (4, -4) and ten times those.
NUMBERS_BT = torch.tensor([[1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0]])
HIDDEN_BTD = torch.stack([NUMBERS_BT, -NUMBERS_BT], dim=-1)

RIGHT_PADDED = ["1110", "1000"]
LEFT_PADDED = ["0111", "0001"]
BOTH_SIDES = ["0110", "1111"]
WITH_A_HOLE = ["1010", "0101"]

every_pooling = pytest.mark.parametrize("pool", POOLINGS.values(), ids=POOLINGS)


def is_real(rows: list[str]) -> Tensor:
    return torch.tensor([[mark == "1" for mark in row] for row in rows])


def vectors(*numbers: float) -> Tensor:
    return torch.tensor([[float(number), -float(number)] for number in numbers])


@pytest.mark.parametrize(
    ("rows", "numbers"),
    [
        (["1111", "1111"], (4, 40)),
        (RIGHT_PADDED, (3, 10)),
        (LEFT_PADDED, (4, 40)),
        (BOTH_SIDES, (3, 40)),
        (WITH_A_HOLE, (3, 40)),
    ],
)
def test_last_is_the_last_real_position(rows, numbers):
    assert torch.equal(last(HIDDEN_BTD, is_real(rows)), vectors(*numbers))


@pytest.mark.parametrize(
    ("rows", "numbers"),
    [
        (["1111", "1111"], (1, 10)),
        (RIGHT_PADDED, (1, 10)),
        (LEFT_PADDED, (2, 40)),
        (BOTH_SIDES, (2, 10)),
        (WITH_A_HOLE, (1, 20)),
    ],
)
def test_first_is_the_first_real_position(rows, numbers):
    assert torch.equal(first(HIDDEN_BTD, is_real(rows)), vectors(*numbers))


@pytest.mark.parametrize(
    ("rows", "numbers"),
    [
        (["1111", "1111"], (2.5, 25)),
        (RIGHT_PADDED, (2, 10)),
        (LEFT_PADDED, (3, 40)),
        (BOTH_SIDES, (2.5, 25)),
        (WITH_A_HOLE, (2, 30)),
    ],
)
def test_mean_is_over_the_real_positions_alone(rows, numbers):
    torch.testing.assert_close(mean(HIDDEN_BTD, is_real(rows)), vectors(*numbers))


@every_pooling
def test_text_of_nothing_but_padding_gives_zeros(pool):
    assert torch.equal(pool(HIDDEN_BTD, is_real(["0000", "1000"])), vectors(0, 10))


@every_pooling
@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_poison_in_padding_does_not_come_through(pool, poison):
    hidden_BTD, is_token_BT = HIDDEN_BTD.clone(), is_real(["0110", "1000"])
    hidden_BTD[~is_token_BT] = poison
    assert torch.equal(pool(hidden_BTD, is_token_BT), pool(HIDDEN_BTD, is_token_BT))


@every_pooling
def test_gradient_reaches_no_padding_and_is_shared_fairly(pool):
    hidden_BTD, is_token_BT = HIDDEN_BTD.clone().requires_grad_(), is_real(["0110", "0000"])
    pool(hidden_BTD, is_token_BT).sum().backward()
    assert torch.equal(hidden_BTD.grad[~is_token_BT], torch.zeros(6, 2))
    torch.testing.assert_close(hidden_BTD.grad.sum(dim=1), torch.tensor([[1.0, 1.0], [0.0, 0.0]]))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_label_head_without_a_mask_takes_every_position_as_real(pooling):
    head = LabelHead(LabelHeadConfig(num_labels=3, pooling=pooling), width=2)
    tokens_BT = torch.zeros(2, 4, dtype=torch.long)
    unmasked_BC = head(HIDDEN_BTD, Text(tokens_BT))
    masked_BC = head(HIDDEN_BTD, Text(tokens_BT, is_real(["1111", "1111"])))
    assert unmasked_BC.shape == (2, 3)
    assert torch.equal(unmasked_BC, masked_BC)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_label_head_pools_as_its_config_says(pooling):
    head = LabelHead(LabelHeadConfig(num_labels=3, pooling=pooling), width=2)
    is_token_BT = is_real(["0110", "1110"])
    text = Text(torch.zeros(2, 4, dtype=torch.long), is_token_BT)
    expected_BD = POOLINGS[pooling](HIDDEN_BTD, is_token_BT)
    assert torch.equal(head.pool(HIDDEN_BTD, text), expected_BD)
    assert torch.equal(head(HIDDEN_BTD, text), head.output(expected_BD))


def test_group_is_the_average_of_its_positions_in_any_row():
    hidden_BTD = torch.arange(12.0).view(2, 3, 2)
    group_BT = torch.tensor([[0, 0, -1], [2, -1, 2]])
    expected = [[1.0, 2.0], [0.0, 0.0], [8.0, 9.0]]
    assert by_group(hidden_BTD, group_BT, 3).tolist() == expected
