"""Ours, for a laptop, and the default: 4.19 M parameters at 8,000 pieces."""

from headstart.apps.recipes.modern import WORDS_HIDDEN, modern_model
from headstart.pipeline.recipe import Recipe
from headstart.training.config import LearningConfig


def compact(objective: str = "masked") -> Recipe:
    """Returns a small modern trunk, bidirectional for masked pieces or causal for next ones."""
    return Recipe(
        name="compact",
        objective=objective,
        model=modern_model(
            objective,
            vocabulary_size=8_000,
            num_layers=6,
            width=192,
            num_heads=6,
            feed_forward_width=512,
        ),
        pooling="mean",
        length=256,
        sequences_per_step=16,
        hiding=WORDS_HIDDEN,
        learning=LearningConfig(peak_rate=2e-3),
    )
