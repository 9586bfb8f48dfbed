"""How a translator is asked to write; free of torch."""

from dataclasses import dataclass
from typing import Literal, get_args

from headstart.errors import RecipeError
from headstart.models.config import require_choice

StrategyName = Literal["greedy", "beam", "sample"]


@dataclass(frozen=True, kw_only=True)
class TranslationSettings:
    """The way in which pieces are chosen, and what every translation must be."""

    strategy: StrategyName = "beam"
    beam: int = 4
    """How many beginnings a beam keeps."""
    length_penalty: float = 1.0
    num_best: int = 1
    most_pieces: int | None = None
    """The most pieces of a translation; where nobody says, twice its source's and some more."""
    prefix: str = ""
    """What every translation begins with."""
    copies_unknown: bool = False
    """Whether a word that has no piece is copied from the source."""
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        require_choice("strategy", self.strategy, get_args(StrategyName))
        if self.num_best > 1 and self.strategy != "beam":
            raise RecipeError(
                f"The best {self.num_best} were asked for, but {self.strategy} writes one "
                "translation. Choose the strategy beam."
            )
        if self.most_pieces is not None and self.most_pieces < 1:
            raise RecipeError(
                f"Translations of {self.most_pieces} pieces were asked for; allow at least 1."
            )
