"""The shape that `compact` and `strong` share, and that other libraries know too.

Bidirectional it is ModernBERT's (layer norms without bias, one of them on the embedding); causal it
is Llama's (root-mean-square norms). So an export needs no code of ours on the other side.
"""

from headstart.choices import choose
from headstart.models.config import Direction, LayerConfig, TrunkConfig
from headstart.models.heads.config import LanguageHeadConfig, ModelConfig
from headstart.objectives.hiding import HidingConfig

# More than BERT hid, and words as wholes: with one seed each, a point better after transfer on a
# test and no better on validation (docs/log.md).
WORDS_HIDDEN = HidingConfig(share=0.3, hides_words=True)
DIRECTIONS: dict[str, Direction] = {"masked": "bidirectional", "causal": "causal"}


def modern_model(
    objective: str,
    *,
    vocabulary_size: int,
    num_layers: int,
    width: int,
    num_heads: int,
    feed_forward_width: int,
) -> ModelConfig:
    """Returns pre-norm gated layers with rotary positions and a tied head, for an objective."""
    direction = choose(objective, DIRECTIONS, "objective for this shape")
    is_causal = direction == "causal"
    layer = LayerConfig(
        width=width,
        num_heads=num_heads,
        feed_forward_width=feed_forward_width,
        feed_forward="gated-silu",
        norm="rms" if is_causal else "layer",
        norm_place="pre",
        has_bias=False,
    )
    trunk = TrunkConfig(
        vocabulary_size=vocabulary_size,
        num_layers=num_layers,
        layer=layer,
        direction=direction,
        positions="rotary",
        max_length=8_192,
        has_embedding_norm=not is_causal,
    )
    return ModelConfig(trunk=trunk, head=LanguageHeadConfig(is_tied=True, has_bias=False))
