"""Layers that learn by compiled code: what they answer and learn is what PyTorch's own parts do.

Legend: B batch, T positions, D width.
"""

from dataclasses import replace

import pytest
import torch

from headstart.apps.recipes.bert import bert
from headstart.apps.recipes.lab import lab
from headstart.models.attention import SelfAttention
from headstart.models.blocks import Block
from headstart.models.feed_forward import FeedForward
from headstart.models.inputs import Text
from headstart.models.kernels.library import compiled_kernels
from headstart.models.learned_branches import Sum, can_attend_as_one, can_feed_as_one
from headstart.models.masks import Visibility, within
from headstart.models.trunks import Trunk

NUM_ROWS, LENGTH = 3, 23


def small(recipe, **changes):
    """The trunk of a recipe, narrower and with few pieces; heads stay wide enough to be served."""
    trunk = recipe.model.trunk
    layer = replace(
        trunk.layer, width=128, num_heads=2, feed_forward_width=96, dropout=0.0, **changes
    )
    return replace(trunk, vocabulary_size=50, num_layers=2, max_length=64, layer=layer)


TRUNKS = {
    "lab": small(lab()),
    "bert": small(bert()),
    "without biases": small(lab(), has_bias=False),
}


@pytest.fixture(params=TRUNKS)
def trunk(request, every_kernel) -> Trunk:
    torch.manual_seed(0)
    return Trunk(TRUNKS[request.param])


def drawn_text() -> Text:
    is_token_BT = torch.arange(LENGTH) < torch.tensor([[LENGTH], [9], [1]])
    return Text(torch.randint(50, (NUM_ROWS, LENGTH)), is_token_BT)


def learned(trunk: Trunk, text: Text) -> list[torch.Tensor]:
    """Returns the vectors of a text's pieces, and all gradients of a sum of them."""
    hidden_MD = trunk(text)[text.is_token_BT]
    weight_MD = torch.linspace(-1, 1, hidden_MD.numel()).view_as(hidden_MD)
    parameters = [each for each in trunk.parameters() if each.requires_grad]
    return [hidden_MD, *torch.autograd.grad((hidden_MD * weight_MD).sum(), parameters)]


def test_a_trunk_learns_the_same_with_compiled_code_and_without(trunk, every_kernel, by_kernels):
    text = drawn_text()
    with by_kernels(None):
        plain = learned(trunk, text)
    for kernels in every_kernel:
        with by_kernels(kernels):
            found = learned(trunk, text)
        for one, other in zip(found, plain, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=2e-4)


def test_compiled_code_is_what_does_it(trunk, monkeypatch):
    def refuse(*_):
        raise AssertionError("called as a module")

    monkeypatch.setattr(SelfAttention, "forward", refuse)
    monkeypatch.setattr(FeedForward, "forward", refuse)
    trunk(drawn_text())


def test_padding_never_changes_a_real_position(trunk):
    text = drawn_text()
    other = text._replace(tokens_BT=torch.where(text.is_token_BT, text.tokens_BT, 7))
    one, two = (learned(trunk, each) for each in (text, other))
    assert torch.equal(one[0], two[0])
    assert text.is_token_BT is not None
    alone = Text(text.tokens_BT[1:2, :9])
    torch.testing.assert_close(trunk(alone)[0], trunk(text)[1, :9], rtol=1e-4, atol=1e-5)


def test_the_future_never_changes_the_past(every_kernel):
    trunk = Trunk(TRUNKS["lab"])
    tokens_BT = torch.randint(50, (2, LENGTH))
    changed_BT = tokens_BT.clone()
    changed_BT[:, 11:] = (changed_BT[:, 11:] + 1) % 50
    one, other = trunk(Text(tokens_BT)), trunk(Text(changed_BT))
    assert torch.equal(one[:, :11], other[:, :11])
    assert not torch.equal(one[:, 11:], other[:, 11:])


def test_dropout_drops_in_both_branches_and_the_same_seed_the_same(every_kernel):
    config = TRUNKS["lab"]
    config = replace(config, layer=replace(config.layer, dropout=0.5))
    block = Block(config, 0)
    hidden_BTD, visibility = torch.randn(2, 5, 128), Visibility(True, None)
    found = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        found.append(block(hidden_BTD, visibility, None, None))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    whole = block.eval()(hidden_BTD, visibility, None, None)
    assert not torch.allclose(found[0], whole)


def test_vectors_may_lie_in_any_order(every_kernel, by_kernels):
    block = Block(TRUNKS["lab"], 0)
    found = []
    for kernels in (every_kernel[0], None):
        hidden_BTD = torch.randn(5, 2, 128, generator=torch.Generator().manual_seed(0))
        hidden_BTD = hidden_BTD.transpose(0, 1).requires_grad_()
        gradient_BTD = torch.ones(128, 5, 2).permute(2, 1, 0) * hidden_BTD.detach().square()
        with by_kernels(kernels):
            answer_BTD = block(hidden_BTD, Visibility(True, None), None, None)
            found.append((answer_BTD, *torch.autograd.grad(answer_BTD, hidden_BTD, gradient_BTD)))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_weights_that_do_not_learn_have_no_gradients(every_kernel):
    block = Block(TRUNKS["lab"], 0)
    block.requires_grad_(requires_grad=False)
    block.feed_forward.inner.weight.requires_grad_()
    hidden_BTD = torch.randn(2, 5, 128, requires_grad=True)
    block(hidden_BTD, Visibility(True, None), None, None).square().sum().backward()
    learning = [name for name, each in block.named_parameters() if each.grad is not None]
    assert learning == ["feed_forward.inner.weight"]
    assert hidden_BTD.grad is not None


def test_what_compiled_code_does_not_know_is_left_to_pytorch(every_kernel):
    block = Block(TRUNKS["bert"], 0)
    hidden_BTD, plain = torch.zeros(1, 4, 128), Visibility(False, None)
    packed = Visibility(False, torch.ones(1, 1, 4, 4, dtype=torch.bool))

    def serves(hidden_BTD=hidden_BTD, visibility=plain) -> tuple[bool, bool]:
        sums = Sum(block.dropout, block.attention_norm), Sum(block.dropout, block.feed_forward_norm)
        return (
            can_attend_as_one(block.attention, sums[0], hidden_BTD, visibility),
            can_feed_as_one(block.feed_forward, sums[1], hidden_BTD),
        )

    assert serves() == (True, True)
    assert serves(visibility=packed) == (False, True)
    assert serves(hidden_BTD.double()) == (False, False)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert serves() == (False, False)
    with torch.no_grad():
        assert serves() == (False, False)
    for listen in ("register_forward_hook", "register_full_backward_pre_hook"):
        handle = getattr(block.feed_forward.inner, listen)(lambda *_: None)
        assert serves() == (True, False)
        handle.remove()
    handle = block.dropout.register_forward_hook(lambda *_: None)
    assert serves() == (False, False)
    handle.remove()
    block.feed_forward_norm.double()
    assert serves() == (True, False)
    block.feed_forward_norm = torch.nn.LayerNorm(128, elementwise_affine=False)
    assert serves() == (True, False)
    block.feed_forward_norm = torch.nn.LayerNorm(128)
    block.attention_norm.weight = torch.nn.Parameter(torch.ones(256)[::2])
    assert serves() == (False, True)
    block.attention_norm = torch.nn.LayerNorm(128)
    block.attention.num_heads = 4
    assert serves() == (False, True)
    assert serves(visibility=Visibility(True, None)) == (True, True)


def test_whoever_listens_to_a_part_hears_it(every_kernel):
    block, heard = Block(TRUNKS["lab"], 0), []
    block.attention.register_forward_pre_hook(lambda *_: heard.append("attention"))
    block(torch.randn(1, 4, 128), Visibility(True, None), None, None)
    assert heard == ["attention"]


def test_whoever_listens_to_every_module_hears_its_parts(every_kernel):
    block, heard = Block(TRUNKS["lab"], 0), []
    handle = torch.nn.modules.module.register_module_forward_hook(
        lambda module, *_: heard.append(type(module))
    )
    try:
        block(torch.randn(1, 4, 128), Visibility(True, None), None, None)
    finally:
        handle.remove()
    assert {SelfAttention, FeedForward, torch.nn.LayerNorm} <= set(heard)


def test_what_is_called_instead_of_a_part_is_called(every_kernel):
    block, called = Block(TRUNKS["lab"], 0), []
    as_made = block.feed_forward.forward

    def instead(hidden_BTD):
        called.append("instead")
        return as_made(hidden_BTD)

    block.feed_forward.forward = instead
    block(torch.randn(1, 4, 128), Visibility(True, None), None, None)
    assert called == ["instead"]


def test_gradients_by_functions_are_those_of_pytorch(every_kernel, by_kernels):
    config = TRUNKS["lab"]
    block = Block(replace(config, layer=replace(config.layer, dropout=0.0)), 0)
    weights = dict(block.named_parameters())
    hidden_BTD = torch.randn(2, 5, 128)

    def loss(weights):
        read = (hidden_BTD, Visibility(True, None), None, None)
        return torch.func.functional_call(block, weights, read).square().sum()

    found = torch.func.grad(loss)(weights)
    with by_kernels(None):
        plain = torch.autograd.grad(loss(weights), list(weights.values()))
    for one, other in zip(found.values(), plain, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("shape", [256, (4, 128)])
def test_a_norm_of_another_shape_is_left_to_pytorch(every_kernel, by_kernels, shape):
    block = Block(TRUNKS["lab"], 0)
    block.feed_forward_norm = torch.nn.LayerNorm(shape)
    hidden_BTD, visibility = torch.randn(2, 4, 128), Visibility(True, None)
    if shape == 256:
        with pytest.raises(RuntimeError, match="normalized_shape"):
            block(hidden_BTD, visibility, None, None)
        return
    found = block(hidden_BTD, visibility, None, None)
    with by_kernels(None):
        torch.testing.assert_close(found, block(hidden_BTD, visibility, None, None))


class Halved(torch.nn.Module):
    """Stands where another branch stood."""

    def __init__(self, branch: torch.nn.Module) -> None:
        super().__init__()
        self.branch = branch

    def forward(self, *read: object) -> torch.Tensor:
        return self.branch(*read) / 2


class HalvedAttention(SelfAttention):
    """Attends as its kind does, and takes half of it."""

    def forward(self, *read: object) -> torch.Tensor:
        return super().forward(*read) / 2


def test_what_stands_in_the_place_of_a_branch_is_called(every_kernel):
    config, visibility = TRUNKS["lab"], Visibility(True, None)
    block, hidden_BTD = Block(config, 0), torch.randn(2, 4, 128)
    inherited = HalvedAttention(config.layer)
    inherited.load_state_dict(block.attention.state_dict())
    block.attention = Halved(block.attention)
    wrapped = block(hidden_BTD, visibility, None, None)
    block.attention = inherited
    torch.testing.assert_close(block(hidden_BTD, visibility, None, None), wrapped)
    block.attention = Block(config, 0).attention
    block.feed_forward = Halved(block.feed_forward)
    assert block(hidden_BTD, visibility, None, None).shape == hidden_BTD.shape


def test_padding_within_a_row_is_left_to_pytorch(every_kernel):
    is_token_BT = torch.tensor([[True, False, True]])
    visibility = within(Text(torch.zeros(1, 3, dtype=torch.long), is_token_BT), "causal")
    block = Block(TRUNKS["lab"], 0)
    assert compiled_kernels() is not None
    after = Sum(block.dropout, block.attention_norm)
    assert not can_attend_as_one(block.attention, after, torch.zeros(1, 3, 128), visibility)


@pytest.mark.parametrize("name", TRUNKS)
def test_gradients_in_half_precision_are_asked_for_in_single(every_kernel, name):
    block = Block(TRUNKS[name], 0)
    hidden_BTD = torch.randn(2, 9, 128)
    found = []
    for is_half in (False, True):
        loss = block(hidden_BTD, Visibility(True, None), None, None).square().sum()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_half):
            found.append(torch.autograd.grad(loss, list(block.parameters())))
    assert all(map(torch.equal, *found))


def test_what_a_layer_answers_may_be_changed_in_place(every_kernel):
    block = Block(TRUNKS["lab"], 0)
    hidden_BTD = torch.randn(2, 9, 128)
    answer_BTD = block(hidden_BTD, Visibility(True, None), None, None)
    answer_BTD.clone().mul_(2).sum().backward()
    expected = [each.grad.clone() for each in block.parameters()]
    block.zero_grad()
    block(hidden_BTD, Visibility(True, None), None, None).mul_(2).sum().backward()
    assert all(map(torch.equal, expected, [each.grad for each in block.parameters()]))


def test_a_trunk_that_learns_is_compiled_whole_where_rows_are_padded(every_kernel):
    trunk, text = Trunk(TRUNKS["lab"]), drawn_text()
    whole = torch.compile(trunk, fullgraph=True, backend="eager")
    torch.testing.assert_close(whole(text)[0], trunk(text)[0])
