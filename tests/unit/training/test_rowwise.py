"""Row-wise AdamW: what dense AdamW does, at the price of the rows that gradients name."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from headstart.errors import RecipeError
from headstart.models.kernels.library import compiled_kernels
from headstart.training import rowwise
from headstart.training.rowwise import RowwiseAdamW

NUM_ROWS, WIDTH = 40, 3
SETTINGS = [
    {"betas": (0.9, 0.98), "weight_decay": 0.0},
    {"betas": (0.9, 0.999), "weight_decay": 0.1},
    {"betas": (0.0, 0.99), "weight_decay": 0.01},
]
every_setting = pytest.mark.parametrize("settings", SETTINGS, ids=str)


class Gradients:
    """Gradients of a few rows in each step, the same ones whoever asks."""

    def __init__(self, touched_share: float, shape=(NUM_ROWS, WIDTH), seed=0):
        self.generator = torch.Generator().manual_seed(seed)
        self.touched_share, self.shape = touched_share, shape

    def draw(self) -> torch.Tensor:
        is_touched_V = torch.rand(self.shape[0], generator=self.generator) < self.touched_share
        rows_R = is_touched_V.nonzero().squeeze(1)
        shape = (len(rows_R), *self.shape[1:])
        # With a direction, so that momentum matters, and of a size that varies.
        values_R = 0.3 + torch.randn(shape, generator=self.generator, dtype=torch.float64)
        return torch.sparse_coo_tensor(rows_R[None], values_R, self.shape, check_invariants=False)


def first_table(shape=(NUM_ROWS, WIDTH)) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def rate(step: int) -> float:
    return 0.01 * (1 - step / 200)


def run(optimiser, table, gradients, steps, is_dense=False):
    for step in steps:
        optimiser.param_groups[0]["lr"] = rate(step)
        gradient = gradients.draw()
        table.grad = gradient.to_dense() if is_dense else gradient
        optimiser.step()


def trained(kind, touched_share, num_steps=150, shape=(NUM_ROWS, WIDTH), **settings):
    table = nn.Parameter(first_table(shape))
    optimiser = kind([table], lr=0.01, **settings)
    is_dense = kind is torch.optim.AdamW
    run(optimiser, table, Gradients(touched_share, shape), range(num_steps), is_dense)
    return table.detach(), optimiser


def distance(one, other):
    """How far apart two tables are, in the lengths of the other's way."""
    return (one - other).norm() / (other - first_table(other.shape)).norm()


@every_setting
@pytest.mark.parametrize("shape", [(NUM_ROWS, WIDTH), (NUM_ROWS,)])
def test_rows_touched_in_each_step_move_exactly_as_under_adamw(settings, shape):
    ours, _ = trained(RowwiseAdamW, 1.0, shape=shape, **settings)
    theirs, _ = trained(torch.optim.AdamW, 1.0, shape=shape, **settings)
    assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


@every_setting
@pytest.mark.parametrize(("touched_share", "tolerance"), [(0.5, 0.01), (0.1, 0.02), (0.02, 0.04)])
def test_rows_touched_now_and_then_end_near_adamw(settings, touched_share, tolerance):
    ours, optimiser = trained(RowwiseAdamW, touched_share, **settings)
    optimiser.settle()
    theirs, _ = trained(torch.optim.AdamW, touched_share, **settings)
    assert distance(ours, theirs) < tolerance


@every_setting
@pytest.mark.parametrize("shape", [(NUM_ROWS, WIDTH), (NUM_ROWS, 37), (NUM_ROWS, 4, 5)])
def test_compiled_code_moves_rows_as_pytorch_does(settings, shape, monkeypatch):
    if compiled_kernels() is None:
        pytest.skip("no code was built for this machine")
    found = []
    for is_compiled in (True, False):
        if not is_compiled:
            monkeypatch.setattr(rowwise, "threaded_kernels", lambda: None)
        table = nn.Parameter(first_table(shape).float())
        optimiser = RowwiseAdamW([table], lr=0.01, **settings)
        gradients = Gradients(0.3, shape)
        for step in range(60):
            optimiser.param_groups[0]["lr"] = rate(step)
            table.grad = gradients.draw().float()
            optimiser.step()
        optimiser.settle()
        found.append((table.detach(), *optimiser.state[table].values()))
    for one, other in zip(*found, strict=True):
        assert_close(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_table_that_was_moved_since_it_was_read_is_noticed(dtype):
    table = nn.Parameter(first_table().to(dtype))
    optimiser = RowwiseAdamW([table], lr=0.01)
    read = table.square().sum()
    table.grad = Gradients(0.5).draw().to(dtype)
    optimiser.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        read.backward()


def test_a_gradient_of_single_numbers_is_refused_with_compiled_code_and_without():
    table = nn.Parameter(torch.ones(6, 3))
    table.grad = torch.zeros(6, 3).index_fill(0, torch.tensor([2, 4]), 1.0).to_sparse()
    with pytest.raises(RuntimeError, match="size"):
        RowwiseAdamW([table]).step()
    assert torch.equal(table, torch.ones(6, 3))


def test_catching_up_is_what_sparse_adam_lacks():
    settings = {"betas": (0.9, 0.98)}
    theirs, _ = trained(torch.optim.AdamW, 0.1, weight_decay=0.0, **settings)
    sparse_adam, _ = trained(torch.optim.SparseAdam, 0.1, **settings)
    ours, optimiser = trained(RowwiseAdamW, 0.1, weight_decay=0.0, **settings)
    optimiser.settle()
    assert distance(ours, theirs) < 0.1 * distance(sparse_adam, theirs)


def test_the_first_step_of_a_row_is_that_of_sparse_adam():
    tables = [nn.Parameter(first_table()) for _ in range(2)]
    optimisers = [
        RowwiseAdamW(tables[:1], lr=0.01, weight_decay=0.0),
        torch.optim.SparseAdam(tables[1:], lr=0.01),
    ]
    for table, optimiser in zip(tables, optimisers, strict=True):
        run(optimiser, table, Gradients(0.3), range(1))
    # The two add epsilon before and after the correction.
    assert_close(*tables, rtol=1e-6, atol=1e-6)


def test_a_row_that_no_gradient_names_does_not_move():
    table = nn.Parameter(first_table())
    optimiser = RowwiseAdamW([table], lr=0.01, weight_decay=0.1)
    gradient = torch.sparse_coo_tensor(
        [[3, 7]], torch.ones(2, WIDTH).double(), table.shape, check_invariants=False
    )
    for _ in range(5):
        table.grad = gradient
        optimiser.step()
    has_moved_V = (table.detach() != first_table()).any(dim=1)
    assert has_moved_V.nonzero().squeeze(1).tolist() == [3, 7]


def test_missed_decay_is_made_up_for_under_any_schedule():
    table = nn.Parameter(first_table())
    optimiser = RowwiseAdamW([table], weight_decay=0.1)
    expected = first_table()[5]
    for step in range(100):
        optimiser.param_groups[0]["lr"] = rate(step)
        table.grad = torch.sparse_coo_tensor(
            [[2]], torch.ones(1, WIDTH).double(), table.shape, check_invariants=False
        )
        optimiser.step()
        expected = expected * (1 - rate(step) * 0.1)
    optimiser.settle()
    assert_close(table.detach()[5], expected, rtol=1e-4, atol=0)


def test_rows_named_twice_add_up():
    tables = [nn.Parameter(first_table()) for _ in range(2)]
    rows = {0: [4, 4, 9], 1: [4, 9]}
    values = {0: [1.0, 2.0, 3.0], 1: [3.0, 3.0]}
    for number, table in enumerate(tables):
        column = torch.tensor(values[number], dtype=torch.float64)[:, None].expand(-1, WIDTH)
        table.grad = torch.sparse_coo_tensor(
            [rows[number]], column, table.shape, check_invariants=False
        )
        RowwiseAdamW([table]).step()
    assert torch.equal(*tables)


def test_settling_twice_is_settling_once():
    table, optimiser = trained(RowwiseAdamW, 0.1)
    optimiser.settle()
    once, state = table.clone(), copy.deepcopy(optimiser.state_dict())
    optimiser.settle()
    assert torch.equal(table, once)
    for key, value in optimiser.state_dict()["state"][0].items():
        assert torch.equal(value, state["state"][0][key])


def test_a_restored_optimiser_goes_on_bit_for_bit():
    whole, _ = trained(RowwiseAdamW, 0.2, num_steps=60)
    table = nn.Parameter(first_table())
    gradients, optimiser = Gradients(0.2), RowwiseAdamW([table], lr=0.01)
    run(optimiser, table, gradients, range(30))
    state = {key: value.clone() for key, value in optimiser.state[table].items()}
    again = nn.Parameter(table.detach().clone())
    restored = RowwiseAdamW([again], lr=0.01)
    restored.state[again] = state
    run(restored, again, gradients, range(30, 60))
    assert torch.equal(again.detach(), whole)


def test_all_that_is_remembered_is_tensors():
    _, optimiser = trained(RowwiseAdamW, 0.2)
    (state,) = optimiser.state.values()
    assert all(isinstance(value, torch.Tensor) for value in state.values())
    assert state["last_step"].dtype == torch.int32


def test_state_survives_pytorchs_own_state_dict():
    whole, _ = trained(RowwiseAdamW, 0.2, num_steps=40)
    table = nn.Parameter(first_table())
    gradients, optimiser = Gradients(0.2), RowwiseAdamW([table], lr=0.01)
    run(optimiser, table, gradients, range(20))
    restored = RowwiseAdamW([table], lr=0.01)
    restored.load_state_dict(optimiser.state_dict())
    run(restored, table, gradients, range(20, 40))
    assert_close(table.detach(), whole)


def test_momentum_that_would_grow_without_gradients_is_refused():
    with pytest.raises(RecipeError, match=r"0\.9 and 0\.5"):
        RowwiseAdamW([nn.Parameter(first_table())], betas=(0.9, 0.5))
