"""A translator for sets of a few ten thousand pairs, such as Multi30k, in minutes."""

from dataclasses import replace

from headstart.models.config import EncoderDecoderConfig, LayerConfig, TrunkConfig
from headstart.models.heads.config import LanguageHeadConfig, ModelConfig
from headstart.pipeline.recipe import Recipe
from headstart.training.config import LearningConfig


def small() -> Recipe:
    """Returns 3+3 layers of width 256 with strong dropout and one shared vocabulary of 8,000."""
    layer = LayerConfig(
        width=256,
        num_heads=4,
        feed_forward_width=1_024,
        feed_forward="relu",
        norm="layer",
        # As the paper and Marian have it, so that others can load what was learned.
        norm_place="post",
        # On so few pairs small trunks with much dropout do best (Wu et al. 2021).
        dropout=0.3,
    )
    encoder = TrunkConfig(
        vocabulary_size=8_000,
        num_layers=3,
        layer=layer,
        direction="bidirectional",
        positions="sinusoidal",
        max_length=1_024,
        scales_embedding=True,
    )
    decoder = replace(encoder, direction="causal", attends_to_source=True)
    trunk = EncoderDecoderConfig(encoder=encoder, decoder=decoder, shares_embedding=True)
    return Recipe(
        name="small",
        objective="translation",
        model=ModelConfig(trunk=trunk, head=LanguageHeadConfig(is_tied=True, has_bias=False)),
        pooling="mean",
        length=32,
        sequences_per_step=128,
        learning=LearningConfig(
            peak_rate=1e-3, schedule="cosine", warm_up_share=0.1, weight_decay=0.01
        ),
    )
