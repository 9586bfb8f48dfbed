"""How many pieces a masked objective hides; free of torch."""

from dataclasses import dataclass

from headstart.errors import RecipeError


@dataclass(frozen=True, kw_only=True)
class HidingConfig:
    """The share of pieces that are asked for, and whether whole words are hidden."""

    share: float = 0.15
    hides_words: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise RecipeError(
                f"The share of hidden pieces is {self.share}; it must be above 0 and below 1, such "
                "as 0.15."
            )
