"""The recipes' shapes are ones that other libraries know: Llama's, ModernBERT's and BERT's.

Legend: B batch, T positions, D width, V pieces.
"""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from headstart.apps.recipes.bert import bert
from headstart.apps.recipes.compact import compact
from headstart.decoding.greedy import Greedy
from headstart.decoding.scoring import CachedScores
from headstart.decoding.strategy import Limits
from headstart.models.initialisation import initialise
from headstart.models.inputs import Text
from headstart.models.model import Model, new_model
from headstart.models.trunks import Trunk
from headstart.objectives.batch import NOTHING, Rows, to_batch
from headstart.objectives.hiding import HidingConfig
from headstart.objectives.masked_and_next import MaskedAndNext
from headstart.objectives.vocabulary_loss.chunked import summed_loss
from headstart.pipeline.recipe import Recipe, with_vocabulary

transformers = pytest.importorskip("transformers")

VOCABULARY_SIZE = 97
IS_TOKEN_BT = torch.tensor(
    [[True] * 12, [True] * 7 + [False] * 5, [False] * 4 + [True] * 8, [False] * 11 + [True]]
)
# Counted by hand from the mask above; where padding stands, any position will do.
POSITION_BT = torch.tensor(
    [
        list(range(12)),
        [*range(7), 0, 0, 0, 0, 0],
        [0, 0, 0, 0, *range(8)],
        [0] * 12,
    ]
)


@torch.no_grad()
def small_model(recipe: Recipe) -> Model:
    """A recipe's model, shrunk in its vocabulary only; every parameter is shaken, gains too."""
    model = new_model(with_vocabulary(recipe, VOCABULARY_SIZE).model)
    initialise(model, seed=3)
    generator = torch.Generator().manual_seed(3)
    for parameter in model.parameters():
        parameter += 0.02 * torch.randn(parameter.shape, generator=generator)
    return model.eval()


def draw_tokens(seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(VOCABULARY_SIZE, IS_TOKEN_BT.shape, generator=generator)


def load(theirs: nn.Module, weights: dict[str, Tensor]) -> nn.Module:
    """Strict: a weight that one side has and the other lacks is an error."""
    theirs.load_state_dict(weights)
    return theirs.eval()


def named(prefix: str, parts: dict[str, nn.Module]) -> dict[str, Tensor]:
    return {
        f"{prefix}{their_name}.{name}": tensor
        for their_name, part in parts.items()
        for name, tensor in part.state_dict().items()
    }


def split(prefix: str, names: tuple[str, ...], fused: nn.Linear) -> dict[str, Tensor]:
    """The equal parts of a fused matrix (and its bias), each under its own name."""
    return {
        f"{prefix}{their_name}.{name}": part
        for name, tensor in fused.state_dict().items()
        for their_name, part in zip(names, tensor.chunk(len(names)), strict=True)
    }


def llama(model: Model) -> nn.Module:
    trunk, layer = model.trunk, model.trunk.config.layer
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY_SIZE,
        hidden_size=layer.width,
        intermediate_size=layer.feed_forward_width,
        num_hidden_layers=trunk.config.num_layers,
        num_attention_heads=layer.num_heads,
        hidden_act="silu",
        max_position_embeddings=trunk.config.max_length,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
    )
    weights = named("model.", {"embed_tokens": trunk.embedding.tokens, "norm": trunk.norm})
    weights["lm_head.weight"] = trunk.embedding.tokens.weight
    for index, block in enumerate(trunk.layers):
        prefix = f"model.layers.{index}."
        attention, feed_forward = block.attention, block.feed_forward
        weights |= split(
            f"{prefix}self_attn.", ("q_proj", "k_proj", "v_proj"), attention.query_key_value
        )
        weights |= split(f"{prefix}mlp.", ("gate_proj", "up_proj"), feed_forward.gate_and_value)
        same = {
            "self_attn.o_proj": attention.output,
            "mlp.down_proj": feed_forward.output,
            "input_layernorm": block.attention_norm,
            "post_attention_layernorm": block.feed_forward_norm,
        }
        weights |= named(prefix, same)
    return load(transformers.LlamaForCausalLM(config), weights)


def modern_bert(trunk: Trunk) -> nn.Module:
    layer = trunk.config.layer
    config = transformers.ModernBertConfig(
        vocab_size=VOCABULARY_SIZE,
        hidden_size=layer.width,
        intermediate_size=layer.feed_forward_width,
        num_hidden_layers=trunk.config.num_layers,
        num_attention_heads=layer.num_heads,
        hidden_activation="silu",
        max_position_embeddings=trunk.config.max_length,
        norm_eps=1e-5,
        norm_bias=False,
        global_attn_every_n_layers=1,
        rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": 10_000.0}},
        pad_token_id=0,
    )
    whole = {
        "embeddings.tok_embeddings": trunk.embedding.tokens,
        "embeddings.norm": trunk.embedding.norm,
        "final_norm": trunk.norm,
    }
    weights = named("", whole)
    for index, block in enumerate(trunk.layers):
        same = {
            "attn_norm": block.attention_norm,
            "attn.Wqkv": block.attention.query_key_value,
            "attn.Wo": block.attention.output,
            "mlp_norm": block.feed_forward_norm,
            "mlp.Wi": block.feed_forward.gate_and_value,
            "mlp.Wo": block.feed_forward.output,
        }
        weights |= named(f"layers.{index}.", same)
    return load(transformers.ModernBertModel(config), weights)


def their_bert(trunk: Trunk) -> nn.Module:
    layer = trunk.config.layer
    config = transformers.BertConfig(
        vocab_size=VOCABULARY_SIZE,
        hidden_size=layer.width,
        intermediate_size=layer.feed_forward_width,
        num_hidden_layers=trunk.config.num_layers,
        num_attention_heads=layer.num_heads,
        hidden_act="gelu",
        max_position_embeddings=trunk.config.max_length,
        type_vocab_size=trunk.config.num_segments,
        layer_norm_eps=1e-5,
    )
    whole = {
        "word_embeddings": trunk.embedding.tokens,
        "position_embeddings": trunk.embedding.positions.table,
        "token_type_embeddings": trunk.embedding.segments,
        "LayerNorm": trunk.embedding.norm,
    }
    weights = named("embeddings.", whole)
    for index, block in enumerate(trunk.layers):
        prefix = f"encoder.layer.{index}."
        fused = block.attention.query_key_value
        weights |= split(f"{prefix}attention.self.", ("query", "key", "value"), fused)
        same = {
            "attention.output.dense": block.attention.output,
            "attention.output.LayerNorm": block.attention_norm,
            "intermediate.dense": block.feed_forward.inner,
            "output.dense": block.feed_forward.output,
            "output.LayerNorm": block.feed_forward_norm,
        }
        weights |= named(prefix, same)
    return load(transformers.BertModel(config, add_pooling_layer=False), weights)


def assert_equal(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


@torch.no_grad()
def test_causal_compact_has_the_logits_of_llama():
    model = small_model(compact("causal"))
    tokens_BT = draw_tokens()
    assert_equal(model(Text(tokens_BT)), llama(model)(tokens_BT).logits)


@torch.no_grad()
def test_padded_causal_compact_equals_llama_at_real_positions():
    model = small_model(compact("causal"))
    tokens_BT = draw_tokens()
    theirs = llama(model).model(
        tokens_BT, attention_mask=IS_TOKEN_BT.long(), position_ids=POSITION_BT
    )
    ours = model.trunk(Text(tokens_BT, IS_TOKEN_BT))
    assert_equal(ours[IS_TOKEN_BT], theirs.last_hidden_state[IS_TOKEN_BT])


@torch.no_grad()
def test_bidirectional_compact_equals_modern_bert():
    trunk = small_model(compact("masked")).trunk
    tokens_BT = draw_tokens()
    assert_equal(trunk(Text(tokens_BT)), modern_bert(trunk)(tokens_BT).last_hidden_state)


@torch.no_grad()
def test_padded_bidirectional_compact_equals_modern_bert_at_real_positions():
    trunk = small_model(compact("masked")).trunk
    tokens_BT = draw_tokens()
    theirs = modern_bert(trunk)(
        tokens_BT, attention_mask=IS_TOKEN_BT.long(), position_ids=POSITION_BT
    )
    ours = trunk(Text(tokens_BT, IS_TOKEN_BT))
    assert_equal(ours[IS_TOKEN_BT], theirs.last_hidden_state[IS_TOKEN_BT])


@torch.no_grad()
def test_padded_bert_with_segments_equals_their_bert_at_real_positions():
    trunk = small_model(bert()).trunk
    tokens_BT = draw_tokens()
    segment_BT = (torch.arange(12) > 5).long().expand(4, 12)
    theirs = their_bert(trunk)(
        tokens_BT,
        attention_mask=IS_TOKEN_BT.long(),
        token_type_ids=segment_BT,
        position_ids=POSITION_BT,
    )
    ours = trunk(Text(tokens_BT, IS_TOKEN_BT, segment_BT=segment_BT))
    assert_equal(ours[IS_TOKEN_BT], theirs.last_hidden_state[IS_TOKEN_BT])


@torch.no_grad()
def test_bert_without_segments_equals_their_bert():
    trunk = small_model(bert()).trunk
    tokens_BT = draw_tokens()
    assert_equal(trunk(Text(tokens_BT)), their_bert(trunk)(tokens_BT).last_hidden_state)


@torch.no_grad()
def test_causal_compact_writes_what_llama_writes():
    model = small_model(compact("causal"))
    tokens_BT, num_pieces, end_id = draw_tokens()[:, :7], 40, 88  # a piece that two rows write
    theirs = llama(model).generate(
        tokens_BT,
        attention_mask=torch.ones_like(tokens_BT),
        max_new_tokens=num_pieces,
        do_sample=False,
        eos_token_id=end_id,
        pad_token_id=end_id,
    )
    limits = Limits(num_pieces=num_pieces, end_id=end_id)
    ours = Greedy().decode(CachedScores(model.trunk, model.head), Text(tokens_BT), limits)
    for (best,), their_row in zip(ours, theirs[:, 7:].tolist(), strict=True):
        length = their_row.index(end_id) if end_id in their_row else num_pieces
        assert list(best.ids) == their_row[:length]


def their_next_sentence(model: Model) -> nn.Module:
    """Their BERT with a next-sentence head, which has the weights of ours."""
    theirs = their_bert(model.trunk)
    judge = model.head.next_sentence
    weights = {f"bert.{name}": tensor for name, tensor in theirs.state_dict().items()}
    weights |= named("bert.pooler.", {"dense": judge.inner})
    weights |= named("cls.", {"seq_relationship": judge.judge.output})
    return load(transformers.BertForNextSentencePrediction(theirs.config), weights)


@torch.no_grad()
def test_both_losses_of_masked_and_next_are_those_of_their_bert():
    model = small_model(bert())
    # Padding behind, as their rows have it, and other pieces asked for in every row.
    is_token = IS_TOKEN_BT.numpy()[[0, 1]]
    tokens = draw_tokens()[:2].numpy()
    targets = np.where(is_token & (draw_tokens(1)[:2].numpy() % 4 == 0), tokens, NOTHING)
    segments = np.broadcast_to(np.arange(12) > 4, tokens.shape).astype(np.int64)
    follows = np.full(tokens.shape, NOTHING)
    follows[:, 0] = [0, 1]
    rows = Rows(
        tokens=tokens,
        documents=np.zeros_like(tokens),
        targets=targets,
        names=("one", "other"),
        is_token=is_token,
        segments=segments,
        follows=follows,
    )
    batch = to_batch(rows, "cpu")
    ours = MaskedAndNext(None, summed_loss, HidingConfig()).loss(model, batch)
    theirs = their_next_sentence(model)
    inputs = {
        "input_ids": torch.from_numpy(tokens),
        "attention_mask": torch.from_numpy(is_token).long(),
        "token_type_ids": torch.from_numpy(segments),
    }
    judged = theirs(**inputs, labels=torch.from_numpy(follows[:, 0]), output_hidden_states=True)
    assert_equal(ours["next"] / 2, judged.loss)
    logits_BTV = model.head.language(judged.hidden_states[-1], batch.text)
    is_asked = torch.from_numpy(targets != NOTHING)
    pieces = nn.functional.cross_entropy(logits_BTV[is_asked], torch.from_numpy(targets)[is_asked])
    assert is_asked.sum() > 3
    assert_equal(ours["pieces"] / is_asked.sum(), pieces)
