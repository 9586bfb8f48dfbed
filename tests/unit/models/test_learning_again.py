"""Learning that is done again, followed step by step, or differentiated once more.

What compiled code does is then what PyTorch's own parts do, is left to them, or is refused.
Legend: B batch, T positions, D width.
"""

from dataclasses import replace
from functools import partial

import pytest
import torch
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

from headstart.apps.recipes.bert import bert
from headstart.apps.recipes.lab import lab
from headstart.models.blocks import Block
from headstart.models.dropout import Dropout
from headstart.models.inputs import Text
from headstart.models.kernels.library import serves
from headstart.models.masks import Visibility
from headstart.models.trunks import Trunk

VISIBLE = Visibility(is_causal=True, may_attend_B1TS=None)
WATCHED = (torch.ops.aten.mm.default, torch.ops.aten.addmm.default)


def small(config, dropout=0.0):
    """A trunk's config with few pieces and narrow layers, heads wide enough to be served."""
    layer = replace(config.layer, width=128, num_heads=2, feed_forward_width=96, dropout=dropout)
    return replace(config, vocabulary_size=50, num_layers=2, max_length=64, layer=layer)


@pytest.fixture(params=[lab, bert])
def new_block(request, every_kernel):
    """Returns a block by the share that it drops, its biases and all else drawn."""

    def new(dropout=0.0) -> Block:
        torch.manual_seed(1)
        block = Block(small(request.param().model.trunk, dropout), 0)
        for weights in block.parameters():
            torch.nn.init.normal_(weights, std=0.2)
        return block

    return new


def drawn_vectors() -> torch.Tensor:
    return torch.randn(2, 9, 128, generator=torch.Generator().manual_seed(2)).requires_grad_()


def plainly(call, hidden_BTD):
    return call(hidden_BTD)


def gradients(block: Block, through=plainly) -> list[torch.Tensor]:
    """Returns the gradients of a block that is called by something else."""
    torch.manual_seed(3)
    block.zero_grad()
    answer_BTD = through(lambda each: block(each, VISIBLE, None, None), drawn_vectors())
    answer_BTD.square().sum().backward()
    return [weights.grad.clone() for weights in block.parameters()]


@pytest.mark.parametrize("is_reentrant", [True, False])
def test_what_is_computed_again_for_gradients_drops_the_same(new_block, is_reentrant):
    block = new_block(dropout=0.3)
    found = gradients(block, partial(checkpoint, use_reentrant=is_reentrant))
    for one, other in zip(found, gradients(block), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


def test_products_that_are_kept_for_gradients_are_kept_as_they_were(new_block):
    block = new_block()
    contexts = partial(create_selective_checkpoint_contexts, list(WATCHED))
    found = gradients(block, partial(checkpoint, use_reentrant=False, context_fn=contexts))
    for one, other in zip(found, gradients(block), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


def test_numbers_that_stand_for_others_are_left_to_pytorch(every_kernel):
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        block = Block(small(lab().model.trunk), 0)
        hidden_BTD = torch.empty(2, 5, 128)
        assert block(hidden_BTD, VISIBLE, None, None).shape == hidden_BTD.shape
    # The mode is over, and its numbers still lie nowhere.
    assert not serves(hidden_BTD)


def test_how_gradients_change_is_refused_and_never_left_out(new_block):
    block, hidden_BTD = new_block(), drawn_vectors()
    score = (block(hidden_BTD, VISIBLE, None, None) * torch.linspace(-1, 1, 128)).sum()
    (gradient_BTD,) = torch.autograd.grad(score, hidden_BTD, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        gradient_BTD.square().mean().backward()


def test_gradients_may_be_made_with_a_graph_that_nobody_uses(new_block):
    block = new_block()
    expected, weights = gradients(block), list(block.parameters())
    loss = block(drawn_vectors(), VISIBLE, None, None).square().sum()
    found = torch.autograd.grad(loss, weights, create_graph=True)
    assert all(map(torch.equal, found, expected))


def test_dropout_can_be_differentiated_again_and_again(every_kernel):
    numbers, factor = torch.randn(50).requires_grad_(), torch.randn(50).requires_grad_()
    torch.manual_seed(0)
    left = Dropout(0.5)(numbers)
    (gradient,) = torch.autograd.grad((left * factor).sum(), numbers, create_graph=True)
    (found,) = torch.autograd.grad(gradient.sum(), factor)
    assert torch.equal(found, left.detach() / numbers.detach())


def test_a_seed_drops_the_same_whether_gradients_are_wanted_or_not(every_kernel):
    numbers, dropout = torch.randn(7, 50), Dropout(0.4)
    torch.manual_seed(0)
    expected = dropout(numbers)
    for without in (torch.no_grad, torch.inference_mode):
        torch.manual_seed(0)
        with without():
            assert torch.equal(dropout(numbers), expected)


def test_learning_within_inference_is_left_to_pytorch(every_kernel, by_kernels):
    trunk, tokens_BT = Trunk(small(lab().model.trunk)), torch.randint(50, (2, 5))
    with torch.inference_mode(), torch.enable_grad():
        found = trunk(Text(tokens_BT))
    with by_kernels(None), torch.no_grad():
        torch.testing.assert_close(found.clone(), trunk(Text(tokens_BT)))


def test_a_row_of_padding_is_read_as_it_is_learned_from(every_kernel):
    config = lab().model.trunk
    torch.manual_seed(0)
    trunk = Trunk(replace(small(config), direction="bidirectional"))
    text = Text(torch.randint(50, (2, 4)), torch.tensor([[True] * 4, [False] * 4]))
    with torch.no_grad():
        used = trunk(text)
    torch.testing.assert_close(trunk(text)[:, 0], used[:, 0], rtol=1e-3, atol=1e-4)


def test_an_output_of_another_width_is_refused(every_kernel):
    block = Block(small(lab().model.trunk), 0)
    block.feed_forward.output = type(block.feed_forward.output)(96, 64)
    with pytest.raises(RuntimeError, match="size"):
        block(drawn_vectors(), VISIBLE, None, None)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_gradients_of_each_text_are_those_of_it_alone(every_kernel):
    config = small(lab().model.trunk)
    trunk = Trunk(config)
    weights = dict(trunk.named_parameters())
    is_token_BT = torch.arange(6) < torch.tensor([[6], [3]])
    tokens_BT = torch.randint(50, is_token_BT.shape)

    def loss(weights, tokens_T, is_token_T):
        text = Text(tokens_T[None], is_token_T[None])
        hidden_1TD = torch.func.functional_call(trunk, weights, (text,))
        return (hidden_1TD.square() * is_token_T[None, :, None]).sum()

    each = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(weights, tokens_BT, is_token_BT)
    for row in range(2):
        alone = torch.func.grad(loss)(weights, tokens_BT[row], is_token_BT[row])
        for name, gradient in alone.items():
            torch.testing.assert_close(each[name][row], gradient, rtol=1e-3, atol=1e-4)
