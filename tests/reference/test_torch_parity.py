"""Our trunks equal PyTorch's own Transformer modules, given the same weights.

Legend: B batch, T positions asking, S positions answering, D width, H heads.
"""

import math

import pytest
import torch
from torch import Tensor, nn

from headstart.models.blocks import Block
from headstart.models.config import EncoderDecoderConfig, LayerConfig, TrunkConfig
from headstart.models.embedding import Embedding
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.trunks import EncoderDecoder, Trunk

NUM_HEADS, WIDTH, VOCABULARY_SIZE = 3, 24, 31

norm_places = pytest.mark.parametrize("norm_place", ["post", "pre"])
activations = pytest.mark.parametrize("activation", ["relu", "gelu"])
directions = pytest.mark.parametrize("direction", ["causal", "bidirectional"])


def trunk_config(norm_place: str, activation: str, direction: str) -> TrunkConfig:
    layer = LayerConfig(
        width=WIDTH,
        num_heads=NUM_HEADS,
        feed_forward_width=40,
        feed_forward=activation,
        norm="layer",
        norm_place=norm_place,
    )
    return TrunkConfig(
        vocabulary_size=VOCABULARY_SIZE,
        num_layers=3,
        layer=layer,
        direction=direction,
        positions="sinusoidal",
        max_length=20,
        scales_embedding=True,
    )


def pair_config(norm_place: str, activation: str) -> EncoderDecoderConfig:
    encoder = trunk_config(norm_place, activation, "bidirectional")
    decoder = TrunkConfig(**vars(encoder) | {"direction": "causal", "attends_to_source": True})
    return EncoderDecoderConfig(encoder=encoder, decoder=decoder, shares_embedding=True)


@torch.no_grad()
def prepare(module: nn.Module) -> nn.Module:
    """Shakes gains and biases too: at their first values of one and zero, a wrong one hides."""
    generator = torch.Generator().manual_seed(7)
    for parameter in module.parameters():
        parameter += 0.2 * torch.randn(parameter.shape, generator=generator)
    return module.double().eval()


def draw_tokens(num_rows: int, length: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(VOCABULARY_SIZE, (num_rows, length), generator=generator)


def keep(rows: list[str]) -> Tensor:
    """Reads rows such as "..xxx": x is a real piece, a dot is padding."""
    return torch.tensor([[mark == "x" for mark in row] for row in rows])


def embed_by_the_formula(embedding: Embedding, tokens_BT: Tensor, is_token_BT: Tensor) -> Tensor:
    rows = []
    for tokens, is_token in zip(tokens_BT.tolist(), is_token_BT.tolist(), strict=True):
        vectors = []
        for place, token in enumerate(tokens):
            position = sum(is_token[:place])
            angles = [position / 10_000 ** (pair / WIDTH) for pair in range(0, WIDTH, 2)]
            sinusoid = [wave(angle) for angle in angles for wave in (math.sin, math.cos)]
            piece_D = embedding.tokens.weight[token] * math.sqrt(WIDTH)
            vectors.append(piece_D + torch.tensor(sinusoid, dtype=torch.float64))
        rows.append(torch.stack(vectors))
    return torch.stack(rows)


def blocked(is_token_BT: Tensor, direction: str) -> Tensor:
    """PyTorch's mask, True where forbidden; each position sees itself, or padding becomes NaN."""
    num_rows, length = is_token_BT.shape
    blocked_BTS = torch.zeros(num_rows, length, length, dtype=torch.bool)
    for row in range(num_rows):
        for asking in range(length):
            for answering in range(length):
                is_future = direction == "causal" and answering > asking
                is_hidden = is_future or not is_token_BT[row, answering]
                blocked_BTS[row, asking, answering] = is_hidden and asking != answering
    return blocked_BTS.repeat_interleave(NUM_HEADS, dim=0)


@torch.no_grad()
def copy_block(theirs: nn.Module, ours: Block) -> None:
    same = [
        (theirs.self_attn.out_proj, ours.attention.output),
        (theirs.linear1, ours.feed_forward.inner),
        (theirs.linear2, ours.feed_forward.output),
        (theirs.norm1, ours.attention_norm),
    ]
    fused = ours.attention.query_key_value
    theirs.self_attn.in_proj_weight.copy_(fused.weight)
    theirs.self_attn.in_proj_bias.copy_(fused.bias)
    if isinstance(theirs, nn.TransformerDecoderLayer):
        cross = ours.cross_attention
        for name in ("weight", "bias"):
            both = torch.cat([getattr(cross.query, name), getattr(cross.key_value, name)])
            getattr(theirs.multihead_attn, f"in_proj_{name}").copy_(both)
        same.append((theirs.multihead_attn.out_proj, cross.output))
        same += [(theirs.norm2, ours.cross_attention_norm), (theirs.norm3, ours.feed_forward_norm)]
    else:
        same.append((theirs.norm2, ours.feed_forward_norm))
    for their_part, our_part in same:
        their_part.load_state_dict(our_part.state_dict())


def empty_stack(config: TrunkConfig) -> nn.TransformerEncoder | nn.TransformerDecoder:
    is_pre_norm, is_decoder = config.layer.norm_place == "pre", config.attends_to_source
    kind = nn.TransformerDecoderLayer if is_decoder else nn.TransformerEncoderLayer
    inner, activation = config.layer.feed_forward_width, config.layer.feed_forward
    layer = kind(
        WIDTH, NUM_HEADS, inner, activation=activation, batch_first=True, norm_first=is_pre_norm
    )
    # Only pre-norm stacks end in a norm of their own.
    norm = nn.LayerNorm(WIDTH) if is_pre_norm else None
    if is_decoder:
        return nn.TransformerDecoder(layer, config.num_layers, norm)
    return nn.TransformerEncoder(layer, config.num_layers, norm, enable_nested_tensor=False)


def copy_stack(theirs: nn.Module, trunk: Trunk) -> nn.Module:
    theirs.double().eval()
    for their_layer, our_layer in zip(theirs.layers, trunk.layers, strict=True):
        copy_block(their_layer, our_layer)
    if theirs.norm is not None:
        theirs.norm.load_state_dict(trunk.norm.state_dict())
    return theirs


def torch_stack(trunk: Trunk) -> nn.TransformerEncoder:
    return copy_stack(empty_stack(trunk.config), trunk)


def torch_transformer(pair: EncoderDecoder) -> nn.Transformer:
    # Left alone, it would end post-norm stacks in a norm that the paper does not have.
    theirs = nn.Transformer(
        WIDTH,
        NUM_HEADS,
        custom_encoder=empty_stack(pair.encoder.config),
        custom_decoder=empty_stack(pair.decoder.config),
        batch_first=True,
    )
    # Filled only now, since it draws new weights for the stacks that it is given.
    copy_stack(theirs.encoder, pair.encoder)
    copy_stack(theirs.decoder, pair.decoder)
    return theirs


def assert_equal(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


def assert_equal_gradients(ours: Tensor, theirs: Tensor, table: nn.Parameter) -> None:
    (our_gradient,) = torch.autograd.grad(ours, table)
    (their_gradient,) = torch.autograd.grad(theirs, table)
    assert our_gradient.abs().max() > 0.01
    torch.testing.assert_close(our_gradient, their_gradient, atol=1e-4, rtol=0)


@norm_places
@activations
@directions
def test_trunk_equals_transformer_encoder(norm_place, activation, direction):
    trunk = prepare(Trunk(trunk_config(norm_place, activation, direction)))
    tokens_BT = draw_tokens(3, 9, seed=1)
    every_BT = torch.ones_like(tokens_BT)
    embedded_BTD = embed_by_the_formula(trunk.embedding, tokens_BT, every_BT)
    forbidden_TT = torch.ones(9, 9, dtype=torch.bool).triu(1) if direction == "causal" else None
    theirs = torch_stack(trunk)(embedded_BTD, mask=forbidden_TT)
    assert_equal(trunk(Text(tokens_BT)), theirs)


@norm_places
@directions
@pytest.mark.parametrize(
    "rows", [["xxxxxx...", "xxxxxxxxx", "x........"], ["...xxxxxx", "xxxxxxxxx", "........x"]]
)
def test_padded_trunk_equals_transformer_encoder_at_real_positions(norm_place, direction, rows):
    trunk = prepare(Trunk(trunk_config(norm_place, "relu", direction)))
    tokens_BT, is_token_BT = draw_tokens(3, 9, seed=2), keep(rows)
    embedded_BTD = embed_by_the_formula(trunk.embedding, tokens_BT, is_token_BT)
    theirs = torch_stack(trunk)(embedded_BTD, mask=blocked(is_token_BT, direction))
    ours = trunk(Text(tokens_BT, is_token_BT))
    assert_equal(ours[is_token_BT], theirs[is_token_BT])


@norm_places
def test_padding_means_what_the_key_padding_mask_of_pytorch_means(norm_place):
    trunk = prepare(Trunk(trunk_config(norm_place, "gelu", "bidirectional")))
    tokens_BT, is_token_BT = draw_tokens(2, 7, seed=3), keep(["xxxx...", "..xxxxx"])
    embedded_BTD = embed_by_the_formula(trunk.embedding, tokens_BT, is_token_BT)
    theirs = torch_stack(trunk)(embedded_BTD, src_key_padding_mask=~is_token_BT)
    ours = trunk(Text(tokens_BT, is_token_BT))
    assert_equal(ours[is_token_BT], theirs[is_token_BT])


@norm_places
@activations
def test_encoder_decoder_equals_transformer(norm_place, activation):
    pair = prepare(EncoderDecoder(pair_config(norm_place, activation)))
    source_BS, target_BT = draw_tokens(2, 8, seed=4), draw_tokens(2, 6, seed=5)
    is_source_BS, is_target_BT = keep(["xxxxx...", "..xxxxxx"]), keep(["xxxxxx", "xxxx.."])
    theirs = torch_transformer(pair)(
        embed_by_the_formula(pair.encoder.embedding, source_BS, is_source_BS),
        embed_by_the_formula(pair.encoder.embedding, target_BT, is_target_BT),
        tgt_mask=torch.ones(6, 6, dtype=torch.bool).triu(1),
        src_key_padding_mask=~is_source_BS,
        memory_key_padding_mask=~is_source_BS,
        tgt_key_padding_mask=~is_target_BT,
    )
    ours = pair(SourceAndTarget(Text(source_BS, is_source_BS), Text(target_BT, is_target_BT)))
    assert_equal(ours[is_target_BT], theirs[is_target_BT])


@norm_places
@directions
def test_gradient_of_the_embedding_equals_that_through_transformer_encoder(norm_place, direction):
    trunk = prepare(Trunk(trunk_config(norm_place, "gelu", direction)))
    tokens_BT, is_token_BT = draw_tokens(2, 7, seed=6), keep(["..xxxxx", "xxxxxx."])
    ours = trunk(Text(tokens_BT, is_token_BT))[is_token_BT].sum()
    embedded_BTD = embed_by_the_formula(trunk.embedding, tokens_BT, is_token_BT)
    theirs = torch_stack(trunk)(embedded_BTD, mask=blocked(is_token_BT, direction))
    assert_equal_gradients(ours, theirs[is_token_BT].sum(), trunk.embedding.tokens.weight)


@norm_places
def test_gradient_of_the_shared_embedding_equals_that_through_transformer(norm_place):
    pair = prepare(EncoderDecoder(pair_config(norm_place, "relu")))
    source_BS, target_BT = draw_tokens(2, 5, seed=8), draw_tokens(2, 6, seed=9)
    ours = pair(SourceAndTarget(Text(source_BS), Text(target_BT))).sum()
    theirs = torch_transformer(pair)(
        embed_by_the_formula(pair.encoder.embedding, source_BS, torch.ones_like(source_BS)),
        embed_by_the_formula(pair.encoder.embedding, target_BT, torch.ones_like(target_BT)),
        tgt_mask=torch.ones(6, 6, dtype=torch.bool).triu(1),
    ).sum()
    assert_equal_gradients(ours, theirs, pair.encoder.embedding.tokens.weight)
