"""A translator that a laptop's processor teaches in minutes: 1.44 M parameters at 4,000 pieces."""

from dataclasses import replace

from headstart.models.config import EncoderDecoderConfig, LayerConfig, TrunkConfig
from headstart.models.heads.config import LanguageHeadConfig, ModelConfig
from headstart.pipeline.recipe import Recipe
from headstart.training.config import LearningConfig


def pocket() -> Recipe:
    """Returns 2+2 layers of width 128 and steps of 500 pieces, many in a minute."""
    layer = LayerConfig(
        width=128,
        num_heads=4,
        feed_forward_width=512,
        feed_forward="relu",
        norm="layer",
        # Normed before each branch, it bears a high rate from the first hundred steps on.
        norm_place="pre",
        dropout=0.1,
    )
    encoder = TrunkConfig(
        vocabulary_size=4_000,
        num_layers=2,
        layer=layer,
        direction="bidirectional",
        positions="sinusoidal",
        max_length=1_024,
        scales_embedding=True,
    )
    decoder = replace(encoder, direction="causal", attends_to_source=True)
    trunk = EncoderDecoderConfig(encoder=encoder, decoder=decoder, shares_embedding=True)
    return Recipe(
        name="pocket",
        objective="translation",
        model=ModelConfig(trunk=trunk, head=LanguageHeadConfig(is_tied=True, has_bias=False)),
        pooling="mean",
        length=20,
        sequences_per_step=25,
        learning=LearningConfig(
            peak_rate=3e-3, schedule="cosine", warm_up_share=0.1, weight_decay=0.01
        ),
    )
