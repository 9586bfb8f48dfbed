"""The encoder-decoder of *Attention is all you need* (Vaswani et al. 2017), base size."""

from dataclasses import replace

from headstart.models.config import EncoderDecoderConfig, LayerConfig, TrunkConfig
from headstart.models.heads.config import LanguageHeadConfig, ModelConfig
from headstart.pipeline.recipe import Recipe
from headstart.training.config import LearningConfig

# The paper's rate: at its highest after 4,000 of 100,000 steps, (512 · 4,000) to the power -1/2.
PAPERS_LEARNING = LearningConfig(
    peak_rate=7e-4, schedule="inverse-sqrt", warm_up_share=0.04, weight_decay=0.0
)


def base() -> Recipe:
    """Returns 6+6 layers of width 512, one shared vocabulary of 37,000, steps of 25,000 pieces."""
    layer = LayerConfig(
        width=512,
        num_heads=8,
        feed_forward_width=2_048,
        feed_forward="relu",
        norm="layer",
        norm_place="post",
        dropout=0.1,
    )
    encoder = TrunkConfig(
        vocabulary_size=37_000,
        num_layers=6,
        layer=layer,
        direction="bidirectional",
        positions="sinusoidal",
        max_length=2_048,
        scales_embedding=True,
    )
    decoder = replace(encoder, direction="causal", attends_to_source=True)
    trunk = EncoderDecoderConfig(encoder=encoder, decoder=decoder, shares_embedding=True)
    return Recipe(
        name="base",
        objective="translation",
        model=ModelConfig(trunk=trunk, head=LanguageHeadConfig(is_tied=True, has_bias=False)),
        pooling="mean",
        length=50,
        sequences_per_step=500,
        learning=PAPERS_LEARNING,
    )
