"""What is seen of a trunk from outside is what happens inside."""

import pytest
import torch
import torch.nn.functional as F
from tiny_classifiers import SHAPES, recipe_of, run_of

from headstart.models.attention import attend, attention_weights, join_heads
from headstart.models.inputs import Text
from headstart.models.inspection import given_vectors, given_weights, weights_by_layer
from headstart.models.masks import Visibility, causal, within


def text_of(num_padding: int = 0) -> Text:
    tokens = torch.randint(4, 100, (3, 9), generator=torch.Generator().manual_seed(1))
    if not num_padding:
        return Text(tokens)
    is_token = torch.ones_like(tokens, dtype=torch.bool)
    is_token[1, -num_padding:] = False
    return Text(tokens, is_token)


@pytest.mark.parametrize("num_padding", [0, 4])
@pytest.mark.parametrize("shape", SHAPES)
def test_weights_times_values_are_what_attention_gives(shape, num_padding):
    trunk = run_of(recipe_of(shape)).model.trunk
    text = text_of(num_padding)
    seen = []
    hooks = [
        layer.attention.register_forward_hook(lambda *call: seen.append(call))
        for layer in trunk.layers
    ]
    found = weights_by_layer(trunk, text)
    for hook in hooks:
        hook.remove()
    assert len(found) == len(seen) == len(trunk.layers)
    for weights, (attention, args, mixed) in zip(found, seen, strict=True):
        values = attention.query_key_value(args[0]).chunk(3, dim=-1)[2]
        values = values.unflatten(2, (attention.num_heads, -1)).transpose(1, 2)
        expected = attention.output(join_heads(weights @ values))
        torch.testing.assert_close(mixed, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_sum_to_one_and_nothing_hidden_is_seen(shape):
    trunk = run_of(recipe_of(shape)).model.trunk
    text = text_of(4)
    for weights in weights_by_layer(trunk, text):
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, 2, 9))
        if trunk.config.direction == "causal":
            assert not weights.triu(diagonal=1).any()
        assert not weights[1, :, :5, 5:].any()
        assert (weights[0] > 0).sum() == 2 * (45 if trunk.config.direction == "causal" else 81)


def test_explicit_weights_are_those_of_the_fused_kernel():
    query, key, value = (
        torch.randn(2, 3, 7, 8, generator=torch.Generator().manual_seed(n)) for n in range(3)
    )
    for visibility in (
        Visibility(is_causal=True, may_attend_B1TS=None),
        Visibility(is_causal=False, may_attend_B1TS=None),
        Visibility(is_causal=False, may_attend_B1TS=causal(7)[None, None]),
    ):
        expected = attend(query, key, value, visibility)
        found = attention_weights(query, key, visibility) @ value
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_trunk_reads_given_vectors_as_its_own_and_forgets_them(shape):
    trunk = run_of(recipe_of(shape)).model.trunk
    text, other = text_of(), Text(text_of().tokens_BT.flip(1))
    with torch.no_grad():
        expected, expected_other = trunk(text), trunk(other)
        with given_vectors(trunk, F.embedding(text.tokens_BT, trunk.embedding.tokens.weight)):
            torch.testing.assert_close(trunk(other), expected)
        torch.testing.assert_close(trunk(other), expected_other)
    with pytest.raises(ZeroDivisionError), given_vectors(trunk, torch.zeros(1)):
        raise ZeroDivisionError
    assert not trunk.embedding.tokens._forward_hooks
    assert within(text, trunk.config.direction).may_attend_B1TS is None


def test_weights_that_are_given_have_no_gradients_for_a_while():
    linear = torch.nn.Linear(2, 2)
    linear.bias.requires_grad_(requires_grad=False)
    vector = torch.ones(2, requires_grad=True)
    with given_weights(linear):
        linear(vector).sum().backward()
    assert vector.grad is not None
    assert linear.weight.grad is None
    assert [each.requires_grad for each in linear.parameters()] == [True, False]
