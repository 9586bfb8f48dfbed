"""How a translator learns from pairs, beyond its rates; frozen and free of torch."""

from dataclasses import dataclass

from headstart.errors import RecipeError
from headstart.models.config import MOST_AVERAGED, require_whole


@dataclass(frozen=True, kw_only=True)
class TranslationConfig:
    """How sure a translator may become of one answer, and which last weights are averaged."""

    label_smoothing: float = 0.1
    """The share of each answer that is spread over all pieces."""
    num_averaged: int = 5
    """So many of the last weights are averaged; 1 averages none."""
    averaged_share: float = 0.1
    """The last share of all steps, in which those weights lie evenly."""

    def __post_init__(self) -> None:
        require_whole(self, "num_averaged", at_least=1, at_most=MOST_AVERAGED)
        if not 0 <= self.label_smoothing < 1:
            raise RecipeError(
                f"label_smoothing is {self.label_smoothing}; it must be at least 0 and below 1."
            )
        if not 0 < self.averaged_share <= 1:
            raise RecipeError(
                f"averaged_share is {self.averaged_share}; it must be above 0 and at most 1."
            )

    def averaged_steps(self, num_steps: int) -> tuple[int, ...]:
        """Returns the steps of a run whose weights are averaged, the last one among them."""
        if self.num_averaged == 1:
            return ()
        gap = max(1, int(self.averaged_share * num_steps) // self.num_averaged)
        steps = (num_steps - gap * place for place in range(self.num_averaged))
        return tuple(sorted(step for step in steps if step >= 1))
