"""What is seen of an encoder-decoder: rows sum to 1, and neither future nor padding has a share."""

from dataclasses import replace

import pytest
import torch

from headstart.models.attention import CrossAttention, SelfAttention, join_heads, split_heads
from headstart.models.config import EncoderDecoderConfig, LayerConfig, TrunkConfig
from headstart.models.initialisation import initialise
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.inspection import pair_weights
from headstart.models.trunks import EncoderDecoder

NUM_HEADS, NUM_SOURCE, NUM_TARGET, NUM_PADDING = 2, 7, 5, 3
LAYER = LayerConfig(
    width=16,
    num_heads=NUM_HEADS,
    feed_forward_width=24,
    feed_forward="relu",
    norm="layer",
    norm_place="post",
)
SIDE = TrunkConfig(
    vocabulary_size=40,
    num_layers=2,
    layer=LAYER,
    direction="bidirectional",
    positions="sinusoidal",
    max_length=16,
    scales_embedding=True,
)
SHAPES = {
    "sinusoidal, post": SIDE,
    "rotary, pre": replace(
        SIDE, positions="rotary", layer=replace(LAYER, norm_place="pre"), scales_embedding=False
    ),
}


def trunk_of(side):
    decoder = replace(side, direction="causal", attends_to_source=True, num_layers=3)
    trunk = EncoderDecoder(
        EncoderDecoderConfig(encoder=side, decoder=decoder, shares_embedding=True)
    )
    initialise(trunk, seed=3)
    with torch.no_grad():
        for number, parameter in enumerate(trunk.parameters()):
            # Larger than first weights are, so that no row is nearly even.
            noise = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(number))
            parameter += 0.3 * noise
    return trunk.eval()


def pair_of():
    """Two pairs, the second of which is padded on both sides."""
    draw = torch.Generator().manual_seed(5)
    source = torch.randint(4, 40, (2, NUM_SOURCE), generator=draw)
    target = torch.randint(4, 40, (2, NUM_TARGET), generator=draw)
    is_source, is_target = (torch.ones_like(side, dtype=torch.bool) for side in (source, target))
    is_source[1, -NUM_PADDING:] = False
    is_target[1, -1:] = False
    return SourceAndTarget(Text(source, is_source), Text(target, is_target))


@pytest.mark.parametrize("side", SHAPES.values(), ids=SHAPES)
def test_rows_sum_to_one_and_what_is_hidden_has_exactly_nothing(side):
    found = pair_weights(trunk_of(side), pair_of())
    assert [len(found.source), len(found.target), len(found.across)] == [2, 3, 3]
    for weights in (*found.source, *found.target, *found.across):
        assert weights.min() >= 0
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
    for weights in found.source:
        assert weights.shape == (2, NUM_HEADS, NUM_SOURCE, NUM_SOURCE)
        assert weights[0].min() > 0, "a reading half sees what is behind too"
        assert not weights[1, :, :-NUM_PADDING, -NUM_PADDING:].any()
    for weights in found.target:
        assert weights.shape == (2, NUM_HEADS, NUM_TARGET, NUM_TARGET)
        assert not weights.triu(diagonal=1).any(), "the future"
        assert weights[0].tril()[weights[0].tril() > 0].numel() == NUM_HEADS * 15
    for weights in found.across:
        assert weights.shape == (2, NUM_HEADS, NUM_TARGET, NUM_SOURCE)
        assert weights[0].min() > 0
        assert not weights[1, :, :, -NUM_PADDING:].any()


@pytest.mark.parametrize("side", SHAPES.values(), ids=SHAPES)
def test_weights_times_values_are_what_attending_to_the_source_gives(side):
    trunk, calls = trunk_of(side), []
    hooks = [
        layer.cross_attention.register_forward_hook(lambda *call: calls.append(call))
        for layer in trunk.decoder.layers
    ]
    found = pair_weights(trunk, pair_of())
    for hook in hooks:
        hook.remove()
    for weights, (attention, (_, source, _), mixed) in zip(found.across, calls, strict=True):
        values = split_heads(attention.key_value(source).chunk(2, dim=-1)[1], NUM_HEADS)
        expected = attention.output(join_heads(weights @ values))
        torch.testing.assert_close(mixed, expected, atol=1e-5, rtol=0)


def test_looking_leaves_nothing_behind():
    trunk = trunk_of(SIDE)
    with torch.no_grad():
        before = trunk(pair_of())
        pair_weights(trunk, pair_of())
        assert torch.equal(trunk(pair_of()), before)
    watched = [part for part in trunk.modules() if isinstance(part, SelfAttention | CrossAttention)]
    assert len(watched) == 8
    assert not any(part._forward_pre_hooks for part in watched)
