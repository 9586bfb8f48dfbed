"""How a transfer is done where nobody says otherwise: steps, rates and their reasons."""

import math
from dataclasses import dataclass, field, replace

from headstart.errors import RecipeError
from headstart.models.config import MOST, require_whole
from headstart.models.heads.config import Pooling
from headstart.training.config import LearningConfig
from headstart.transfers.config import TransferConfig

# Few labels make short epochs, and fine-tuning that ends after a few dozen steps collapses on some
# seeds (Mosbach et al. 2021): there are always at least so many steps.
FEWEST_STEPS = 150


@dataclass(frozen=True, kw_only=True)
class TransferSettings:
    """How long and how fast a trunk learns labels."""

    transfer: TransferConfig = field(default_factory=TransferConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)
    epochs: int = 10
    fewest_steps: int = FEWEST_STEPS
    """More epochs are done where they would come to fewer, and none of these is left out."""
    examples_per_step: int = 16
    length: int | None = None
    """Pieces of a text that are read at once; None is the trunk's own."""
    dropout: float = 0.1
    pooling: Pooling | None = None
    """None is the one that suits the trunk's objective."""

    def __post_init__(self) -> None:
        require_whole(self, "epochs", "examples_per_step", at_least=1, at_most=MOST)
        require_whole(self, "fewest_steps", at_least=0, at_most=MOST)
        if not 0 <= self.dropout < 1:
            raise RecipeError(f"dropout is {self.dropout}; it must be at least 0 and below 1.")

    def epochs_for(self, steps_per_epoch: int) -> int:
        """Returns the epochs, more of them where they are short."""
        return max(self.epochs, math.ceil(self.fewest_steps / steps_per_epoch))


# A cold trunk has nothing to lose: one rate for all of it.
COLD = TransferSettings(
    transfer=TransferConfig(patience=5),
    learning=LearningConfig(
        peak_rate=1e-3, schedule="linear", warm_up_share=0.1, weight_decay=0.01
    ),
)
# What was learned is moved gently, and what lies deeper, being more general, is moved less. The
# head begins where it fits the trunk, and good epochs are averaged: so seeds differ less.
WARM = replace(
    COLD,
    transfer=replace(COLD.transfer, layer_decay=0.8, fits_head=True, num_averaged=3),
    learning=replace(COLD.learning, peak_rate=3e-4),
)
# A head alone is a logistic regression: its steps cost nothing, so there are many; with as many
# numbers as labels it would learn those by heart, so it decays strongly.
FROZEN = TransferSettings(
    transfer=TransferConfig(mode="frozen"),
    learning=LearningConfig(peak_rate=1e-3, schedule="linear", warm_up_share=0.1, weight_decay=3.0),
    epochs=20,
    fewest_steps=600,
    dropout=0.0,
)
GRADUAL = replace(WARM, transfer=replace(WARM.transfer, mode="gradual"))
# A cold trunk has nothing that a head could be fitted to.
GRADUAL_COLD = replace(GRADUAL, transfer=replace(GRADUAL.transfer, fits_head=False))


def with_teachers(settings: TransferSettings) -> TransferSettings:
    """Returns the same for epochs that read texts without labels too: long ones, so few."""
    return replace(settings, epochs=3, examples_per_step=32)


TAUGHT = with_teachers(WARM)


def default_settings(mode: str, *, is_warm: bool) -> TransferSettings:
    """Returns the settings of a mode."""
    if mode == "frozen":
        return FROZEN
    if mode == "gradual":
        return GRADUAL if is_warm else GRADUAL_COLD
    return WARM if is_warm else COLD
