"""A translator of ours as other libraries have it: the same weights under their names.

Norms after each branch make it Hugging Face's Marian, norms before each make it their Pegasus; the
rest of both is alike. Their sinusoids stand in halves and ours in turn, so that they get our table.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from headstart.models.model import Model
from headstart.models.trunks import Trunk
from headstart.pipeline.translate import Job, TranslationWriter
from headstart.tokenizers.pieces import (
    BASIC_PIECES,
    END,
    END_ID,
    PADDING_ID,
    START,
    START_ID,
    UNKNOWN,
)

Weights = dict[str, Tensor]


def hugging_face_translator(model: Model, most_positions: int = 512) -> nn.Module:
    """Returns Marian or Pegasus with the weights of our encoder-decoder."""
    import transformers

    trunk = model.trunk.config
    layer, other_layer = trunk.encoder.layer, trunk.decoder.layer
    is_post = layer.norm_place == "post"
    make_config = transformers.MarianConfig if is_post else transformers.PegasusConfig
    config = make_config(
        vocab_size=trunk.vocabulary_size,
        d_model=trunk.width,
        encoder_layers=trunk.encoder.num_layers,
        decoder_layers=trunk.decoder.num_layers,
        encoder_attention_heads=layer.num_heads,
        decoder_attention_heads=other_layer.num_heads,
        encoder_ffn_dim=layer.feed_forward_width,
        decoder_ffn_dim=other_layer.feed_forward_width,
        activation_function=layer.feed_forward,
        dropout=layer.dropout,
        attention_dropout=0.0,
        activation_dropout=0.0,
        scale_embedding=trunk.encoder.scales_embedding,
        max_position_embeddings=min(most_positions, trunk.encoder.max_length),
        decoder_start_token_id=START_ID,
        bos_token_id=START_ID,
        pad_token_id=PADDING_ID,
        eos_token_id=END_ID,
        forced_eos_token_id=None,
    )
    kind = transformers.MarianMTModel if is_post else transformers.PegasusForConditionalGeneration
    theirs = kind(config)
    theirs.load_state_dict(their_weights(model, config.max_position_embeddings))
    return theirs.eval()


def their_weights(model: Model, most_positions: int) -> Weights:
    """Returns every weight under its name there; what one side lacks is an error when loading."""
    weights: Weights = {
        "model.shared.weight": model.trunk.encoder.embedding.tokens.weight,
        "lm_head.weight": model.head.weight,
        "final_logits_bias": torch.zeros(1, len(model.head.weight)),
    }
    for name, half in (("encoder", model.trunk.encoder), ("decoder", model.trunk.decoder)):
        weights |= half_weights(f"model.{name}.", half, most_positions)
    return weights


def half_weights(prefix: str, half: Trunk, most_positions: int) -> Weights:
    """Returns the weights of the encoder or the decoder."""
    weights = {
        f"{prefix}embed_tokens.weight": half.embedding.tokens.weight,
        f"{prefix}embed_positions.weight": half.embedding.positions.table_LD[:most_positions],
    }
    if half.config.layer.norm_place == "pre":
        weights |= named(f"{prefix}layer_norm", half.norm)
    for index, block in enumerate(half.layers):
        layer = f"{prefix}layers.{index}."
        weights |= split(f"{layer}self_attn.", "qkv", block.attention.query_key_value)
        weights |= named(f"{layer}self_attn.out_proj", block.attention.output)
        weights |= named(f"{layer}self_attn_layer_norm", block.attention_norm)
        weights |= named(f"{layer}fc1", block.feed_forward.inner)
        weights |= named(f"{layer}fc2", block.feed_forward.output)
        weights |= named(f"{layer}final_layer_norm", block.feed_forward_norm)
        if half.config.attends_to_source:
            cross = block.cross_attention
            weights |= split(f"{layer}encoder_attn.", "q", cross.query)
            weights |= split(f"{layer}encoder_attn.", "kv", cross.key_value)
            weights |= named(f"{layer}encoder_attn.out_proj", cross.output)
            weights |= named(f"{layer}encoder_attn_layer_norm", block.cross_attention_norm)
    return weights


def named(prefix: str, part: nn.Module) -> Weights:
    """Returns the weights of a part under another name."""
    return {f"{prefix}.{name}": tensor for name, tensor in part.state_dict().items()}


def split(prefix: str, letters: str, fused: nn.Linear) -> Weights:
    """Returns the equal parts of a fused matrix and of its bias, each under its own name."""
    return {
        f"{prefix}{letter}_proj.{name}": part
        for name, tensor in fused.state_dict().items()
        for letter, part in zip(letters, tensor.chunk(len(letters)), strict=True)
    }


def their_texts(
    theirs: nn.Module,
    writer: TranslationWriter,
    batches: Sequence[Sequence[Job]],
    *,
    stops_early: bool,
) -> dict[int, str]:
    """Returns what `generate` makes of each job by its number, asked as our own search is."""
    how, tokenizer = writer.how, writer.target_tokenizer
    found: dict[int, str] = {}
    for batch in batches:
        rows = [torch.tensor([*job.part.ids, END_ID]) for job in batch]
        tokens = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PADDING_ID)
        tokens = tokens.to(next(theirs.parameters()).device)
        written = theirs.generate(
            tokens,
            attention_mask=(tokens != PADDING_ID).long(),
            num_beams=how.beam,
            length_penalty=how.length_penalty,
            early_stopping=stops_early,
            max_new_tokens=max(writer.most_pieces(job) for job in batch),
            suppress_tokens=list(writer.forbidden),
            do_sample=False,
        )
        for job, row in zip(batch, written.tolist(), strict=True):
            ids = [piece for piece in row if piece >= len(BASIC_PIECES)]
            found[job.number] = tokenizer.decode(ids)
    return found


def write_ctranslate2(theirs: nn.Module, vocabulary: list[str], folder: Path) -> None:
    """Writes a Hugging Face translator as a model of CTranslate2, in single precision."""
    from ctranslate2.converters.transformers import BartLoader

    theirs.config.normalize_before = theirs.config.model_type == "pegasus"
    theirs.config.normalize_embedding = False
    with torch.no_grad():
        spec = BartLoader().get_model_spec(theirs)
    spec.register_source_vocabulary(vocabulary)
    spec.register_target_vocabulary(vocabulary)
    for name, piece in (("bos", START), ("eos", END), ("unk", UNKNOWN), ("decoder_start", START)):
        setattr(spec.config, f"{name}_token", piece)
    folder.mkdir()
    spec.validate()
    spec.optimize(quantization="float32")
    spec.save(str(folder))
