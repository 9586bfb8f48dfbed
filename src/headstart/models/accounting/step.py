"""The shape of one training step, as far as its cost depends on it."""

from dataclasses import dataclass

from headstart.errors import RecipeError
from headstart.models.config import require_whole


@dataclass(frozen=True, kw_only=True)
class StepShape:
    """So many sequences of so many pieces, of which a share is answered about."""

    length: int
    sequences: int
    answered_share: float = 1.0
    """The share of positions that need logits: 1 for next pieces, 0.15 for hidden ones."""
    is_frozen: bool = False
    """Whether only the head learns."""

    def __post_init__(self) -> None:
        require_whole(self, "length", "sequences", at_least=1)
        if not 0 < self.answered_share <= 1:
            raise RecipeError(
                f"answered_share is {self.answered_share}; it must be above 0 and at most 1."
            )

    @property
    def num_tokens(self) -> int:
        """The pieces of one step; for translation, on each side."""
        return self.length * self.sequences
