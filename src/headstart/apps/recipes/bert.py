"""BERT's kind at a size for one desk: hidden pieces and next-sentence, read at the first vector."""

from headstart.models.config import LayerConfig, TrunkConfig
from headstart.models.heads.config import (
    LanguageAndNextHeadConfig,
    LanguageHeadConfig,
    ModelConfig,
)
from headstart.pipeline.recipe import Recipe


def bert() -> Recipe:
    """Returns a small BERT: learned positions, segments, post-norm, GELU, tied head with bias."""
    layer = LayerConfig(
        width=256,
        num_heads=4,
        feed_forward_width=1_024,
        feed_forward="gelu",
        norm="layer",
        norm_place="post",
        dropout=0.1,
    )
    trunk = TrunkConfig(
        vocabulary_size=16_000,
        num_layers=4,
        layer=layer,
        direction="bidirectional",
        positions="learned",
        max_length=512,
        num_segments=2,
        has_embedding_norm=True,
    )
    head = LanguageAndNextHeadConfig(language=LanguageHeadConfig(is_tied=True, has_bias=True))
    return Recipe(
        name="bert",
        objective="masked+next",
        model=ModelConfig(trunk=trunk, head=head),
        pooling="first",
        length=256,
        sequences_per_step=16,
    )
