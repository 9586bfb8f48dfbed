"""The documents' model, exactly: 21,018,401 parameters as a language model of 50,001 pieces."""

from headstart.models.config import LayerConfig, TrunkConfig
from headstart.models.heads.config import LanguageHeadConfig, ModelConfig
from headstart.pipeline.recipe import Recipe
from headstart.training.config import LearningConfig


def lab() -> Recipe:
    """Returns the documents' model: sinusoidal positions, post-norm, ReLU, causal, untied."""
    layer = LayerConfig(
        width=200,
        num_heads=2,
        feed_forward_width=200,
        feed_forward="relu",
        norm="layer",
        norm_place="post",
    )
    trunk = TrunkConfig(
        vocabulary_size=50_001,
        num_layers=4,
        layer=layer,
        direction="causal",
        positions="sinusoidal",
        max_length=5_000,
        scales_embedding=True,
    )
    return Recipe(
        name="lab",
        objective="causal",
        model=ModelConfig(trunk=trunk, head=LanguageHeadConfig(is_tied=False, has_bias=True)),
        pooling="mean",
        length=256,
        sequences_per_step=16,
        learning=LearningConfig(peak_rate=2e-3),
    )
