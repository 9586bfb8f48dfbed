"""Weights that are laid out for use give the plain answers, and serve only where they may."""

import copy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from headstart.apps.recipes.lab import lab
from headstart.models import layouts
from headstart.models.blocks import Block
from headstart.models.heads.config import LanguageHeadConfig
from headstart.models.heads.language import LanguageHead
from headstart.models.inputs import Text
from headstart.models.layouts import LEAST_PRODUCT, Layout, Linear, Product, lay_out
from headstart.models.masks import Visibility

needs_layouts = pytest.mark.skipif(not layouts.has_layouts(), reason="PyTorch without oneDNN")
WIDTH, NUM_OUTPUTS = 64, 96
NUM_ROWS = LEAST_PRODUCT // (WIDTH * NUM_OUTPUTS) + 1


@pytest.fixture
def taken(monkeypatch):
    """Counts the products that take laid out weights."""
    calls = []
    plain = Layout.product

    def counted(self, rows, bias, activation):
        calls.append(len(rows))
        return plain(self, rows, bias, activation)

    monkeypatch.setattr(Layout, "product", counted)
    return calls


def new_linear(*, has_bias=True):
    torch.manual_seed(1)
    linear = Linear(WIDTH, NUM_OUTPUTS, bias=has_bias).eval()
    lay_out(linear)
    return linear


def drawn_rows(*sizes):
    return torch.randn(*sizes, WIDTH, generator=torch.Generator().manual_seed(2))


@needs_layouts
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("sizes", [(NUM_ROWS,), (NUM_ROWS, 3), (5, NUM_ROWS // 4)])
def test_laid_out_weights_give_the_plain_product(taken, has_bias, sizes):
    linear, rows = new_linear(has_bias=has_bias), drawn_rows(*sizes)
    with torch.inference_mode():
        answer = linear(rows)
    assert len(taken) == 1
    expected = F.linear(rows.double(), linear.weight.double(), None).float()
    if has_bias:
        expected = expected + linear.bias
    torch.testing.assert_close(answer, expected, rtol=1e-5, atol=1e-5)


@needs_layouts
def test_rows_that_do_not_lie_side_by_side_give_the_same(taken):
    linear, wide = new_linear(), torch.cat([drawn_rows(NUM_ROWS), drawn_rows(NUM_ROWS)], dim=1)
    with torch.no_grad():
        answer = linear(wide[:, :WIDTH])
        torch.testing.assert_close(answer, linear(wide[:, :WIDTH].contiguous()))
    assert len(taken) == 2


@pytest.mark.parametrize("num_rows", [3, NUM_ROWS])
def test_an_activation_is_that_of_pytorch(num_rows):
    linear, rows = new_linear(), drawn_rows(num_rows)
    with torch.no_grad():
        bent = linear.product(rows, linear.bias, "relu")
        torch.testing.assert_close(bent, F.relu(F.linear(rows, linear.weight, linear.bias)))
    assert (bent == 0).any()
    assert (bent > 0).any()


@needs_layouts
def test_a_tied_head_gives_the_plain_logits_and_stays_tied(taken):
    embedding = nn.Embedding(NUM_OUTPUTS, WIDTH)
    head = LanguageHead(LanguageHeadConfig(is_tied=True, has_bias=True), embedding)
    nn.init.normal_(head.bias)
    lay_out(head.eval())
    rows = drawn_rows(NUM_ROWS, 2)
    with torch.no_grad():
        answer = head(rows, Text(torch.zeros(NUM_ROWS, 2, dtype=torch.long)))
        expected = rows @ embedding.weight.T + head.bias
    assert len(taken) == 1
    torch.testing.assert_close(answer, expected, rtol=1e-5, atol=1e-5)
    assert head.weight is embedding.weight


def test_gradients_flow_by_the_plain_product(taken):
    linear, rows = new_linear(), drawn_rows(NUM_ROWS).requires_grad_()
    with torch.no_grad():
        linear(rows)
    taken.clear()
    linear(rows).sum().backward()
    assert taken == []
    torch.testing.assert_close(rows.grad, linear.weight.sum(dim=0).expand_as(rows))
    torch.testing.assert_close(linear.bias.grad, torch.full((NUM_OUTPUTS,), float(NUM_ROWS)))


def test_names_and_weights_stay_those_of_a_plain_layer():
    linear = new_linear()
    before = {name: tensor.clone() for name, tensor in linear.state_dict().items()}
    with torch.no_grad():
        linear(drawn_rows(NUM_ROWS))
    assert linear.state_dict().keys() == nn.Linear(WIDTH, NUM_OUTPUTS).state_dict().keys()
    assert all(torch.equal(linear.state_dict()[name], before[name]) for name in before)


@torch.no_grad()
@pytest.mark.parametrize("has_moved", [True, False])
def test_weights_that_have_changed_are_taken_as_they_are_now(has_moved):
    linear, rows = new_linear(), drawn_rows(NUM_ROWS)
    linear(rows)
    if has_moved:
        linear.weight.data = 2 * linear.weight
    else:
        linear.weight.mul_(2)
    torch.testing.assert_close(linear(rows), F.linear(rows, linear.weight, linear.bias))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("is_laid_out_first", [True, False])
def test_other_precisions_are_left_alone(taken, dtype, is_laid_out_first):
    linear = Linear(WIDTH, NUM_OUTPUTS)
    if is_laid_out_first:
        lay_out(linear)
    linear = linear.to(dtype)
    if not is_laid_out_first:
        lay_out(linear)
    rows = drawn_rows(NUM_ROWS).to(dtype)
    with torch.no_grad():
        assert torch.equal(linear(rows), F.linear(rows, linear.weight, linear.bias))
    assert taken == []


needs_half_layouts = pytest.mark.skipif(
    not layouts.has_layouts() or not layouts.has_half_layouts(), reason="a processor without bf16"
)


@needs_half_layouts
@pytest.mark.parametrize("num_rows", [1, NUM_ROWS])
def test_autocast_has_weights_laid_out_in_half_precision(taken, num_rows):
    linear, rows = new_linear(), drawn_rows(num_rows)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        answer = linear(rows)
        expected = F.linear(rows, linear.weight, linear.bias)
    assert answer.dtype == torch.bfloat16
    torch.testing.assert_close(answer, expected, rtol=0.01, atol=0.01)
    assert len(taken) == 1


@needs_half_layouts
def test_either_precision_has_a_layout_of_its_own(taken):
    linear, rows = new_linear(), drawn_rows(NUM_ROWS)
    with torch.no_grad():
        before = linear(rows)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            linear(rows)
        after = linear(rows)
    assert len(taken) == 3
    assert after.dtype == torch.float32
    assert torch.equal(before, after)


def test_a_processor_without_half_precision_takes_plain_products(taken, monkeypatch):
    monkeypatch.setattr(layouts, "has_half_layouts", lambda: False)
    linear = new_linear()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        assert linear(drawn_rows(NUM_ROWS)).dtype == torch.bfloat16
    assert taken == []


def test_weights_elsewhere_are_left_alone(taken):
    linear = Linear(WIDTH, NUM_OUTPUTS, device="meta")
    lay_out(linear)
    with torch.no_grad():
        assert linear(torch.empty(NUM_ROWS, WIDTH, device="meta")).shape == (NUM_ROWS, NUM_OUTPUTS)
    assert taken == []


def test_small_products_and_those_that_nobody_asked_for_are_plain(taken):
    with torch.no_grad():
        new_linear()(drawn_rows(2))
        Linear(WIDTH, NUM_OUTPUTS)(drawn_rows(NUM_ROWS))
    assert taken == []


def test_without_the_operation_the_product_is_plain(taken, monkeypatch):
    monkeypatch.setattr(layouts, "has_layouts", lambda: False)
    linear, rows = new_linear(), drawn_rows(NUM_ROWS)
    with torch.no_grad():
        assert torch.equal(linear(rows), F.linear(rows, linear.weight, linear.bias))
    assert taken == []


@needs_layouts
def test_a_pytorch_without_onednn_has_no_layouts(monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert not layouts.has_layouts()


@needs_layouts
@torch.no_grad()
def test_a_copy_has_weights_and_a_layout_of_its_own(taken):
    linear, rows = new_linear(), drawn_rows(NUM_ROWS)
    before = linear(rows)
    other = copy.deepcopy(linear)
    other.weight.zero_()
    other.bias.zero_()
    assert torch.equal(other(rows), torch.zeros_like(before))
    assert torch.equal(linear(rows), before)
    assert len(taken) == 3


def test_all_products_of_a_model_are_found():
    model = nn.Sequential(Linear(2, 3), nn.ReLU(), nn.ModuleList([Linear(3, 2)]))
    lay_out(model)
    found = [part for part in model.modules() if isinstance(part, Product)]
    assert [part.is_for_use for part in found] == [layouts.has_layouts()] * 2


@needs_layouts
def test_a_layer_that_learns_by_compiled_code_is_multiplied_as_it_is_now(taken):
    layer = replace(lab().model.trunk.layer, width=WIDTH, num_heads=1, feed_forward_width=96)
    block = Block(replace(lab().model.trunk, layer=layer), 0).eval()
    lay_out(block)
    hidden_BTD, visibility = drawn_rows(NUM_ROWS, 2), Visibility(True, None)

    def used():
        with torch.no_grad():
            return block.eval()(hidden_BTD, visibility, None, None)

    used()
    assert taken
    # Its steps change weights without counting that they did.
    optimiser = torch.optim.AdamW(block.parameters(), lr=0.1, fused=True)
    block.train()(hidden_BTD, visibility, None, None).square().sum().backward()
    optimiser.step()
    found = used()
    torch.testing.assert_close(found, copy.deepcopy(block)(hidden_BTD, visibility, None, None))


@needs_layouts
def test_what_learns_again_is_multiplied_as_it_is_now_however_it_is_changed(taken):
    linear, rows = new_linear(), drawn_rows(NUM_ROWS)
    with torch.no_grad():
        linear(rows)
    assert len(taken) == 1
    linear.train()
    # Its steps change weights without counting that they did.
    optimiser = torch.optim.AdamW(linear.parameters(), lr=1.0, fused=True)
    linear(rows).sum().backward()
    optimiser.step()
    linear.eval()
    with torch.no_grad():
        answer = linear(rows)
    torch.testing.assert_close(answer, F.linear(rows, linear.weight, linear.bias).detach())
    assert len(taken) == 1


@needs_layouts
@pytest.mark.parametrize("move", [lambda one: one.bfloat16().float(), lambda one: one.to("meta")])
def test_what_is_cast_or_moved_goes_back_to_plain_products(taken, move):
    linear, rows = new_linear(), drawn_rows(NUM_ROWS)
    with torch.no_grad():
        linear(rows)
        moved = move(linear)
        moved(rows.to(moved.weight.device))
    assert len(taken) == 1


@needs_layouts
def test_a_layout_that_is_out_of_date_is_given_up(taken):
    linear, rows = new_linear(), drawn_rows(NUM_ROWS)
    with torch.no_grad():
        linear(rows)
        linear.weight.mul_(2)
        linear(rows)
    assert len(taken) == 1
    assert not linear.is_for_use
    assert linear._layout is None


def test_layouts_are_off_where_onednn_is(monkeypatch):
    monkeypatch.setattr(type(torch.backends.mkldnn), "enabled", False)
    assert not layouts.has_layouts()
