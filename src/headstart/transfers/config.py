"""How a trunk is transferred to labels; frozen and free of torch."""

from dataclasses import dataclass
from typing import Literal, get_args

from headstart.errors import RecipeError
from headstart.models.config import MOST, MOST_AVERAGED, require_choice, require_whole

Mode = Literal["full", "frozen", "gradual"]
LongTexts = Literal["cut", "windows"]
BestBy = Literal["accuracy", "macro-f1", "loss"]
MOST_LABELLED_WEIGHT = 1e6


@dataclass(frozen=True, kw_only=True)
class TransferConfig:
    """The labels, which part of the trunk learns and how fast, and when it is enough."""

    labels: tuple[str, ...] = ()
    """The labels in the order of the head's answers; none before the examples are read."""
    is_warm: bool = False
    """Whether the trunk was pretrained; else its first weights are drawn."""
    mode: Mode = "full"
    layer_decay: float = 1.0
    """The rate of each layer as a share of the one above it."""
    fits_head: bool = False
    """Whether the head is fitted to the pretrained trunk before both learn; else it is drawn."""
    num_fresh_layers: int = 0
    """Layers at the top that begin with drawn weights although the trunk was pretrained."""
    weighs_labels: bool = False
    """Whether rare labels weigh as much in all as frequent ones."""
    long_texts: LongTexts = "cut"
    """A text longer than a row is cut, or read in windows whose vectors are pooled."""
    patience: int = 0
    """Epochs without a better one before a run ends; 0 never ends it early."""
    fewest_steps: int = 0
    """Steps before which no run ends, however short its epochs are."""
    best_by: BestBy = "accuracy"
    num_averaged: int = 1
    """The best epochs whose weights are averaged; 1 keeps the best alone."""
    labelled_weight: float = 1.0
    """As how many texts without labels one with a label counts, where teachers answer for those."""

    def __post_init__(self) -> None:
        require_choice("mode", self.mode, get_args(Mode))
        require_choice("long_texts", self.long_texts, get_args(LongTexts))
        require_choice("best_by", self.best_by, get_args(BestBy))
        require_whole(
            self, "num_fresh_layers", "patience", "fewest_steps", at_least=0, at_most=MOST
        )
        require_whole(self, "num_averaged", at_least=1, at_most=MOST_AVERAGED)
        if not 0 < self.layer_decay <= 1:
            raise RecipeError(
                f"layer_decay is {self.layer_decay}; it must be above 0 and at most 1."
            )
        if not 0 < self.labelled_weight <= MOST_LABELLED_WEIGHT:
            raise RecipeError(
                f"labelled_weight is {self.labelled_weight}; it must be above 0 and at most "
                f"{MOST_LABELLED_WEIGHT:g}."
            )
        if self.mode == "frozen" and self.num_fresh_layers:
            raise RecipeError(
                f"The layers to begin anew are {self.num_fresh_layers}, but a frozen trunk would "
                "never teach them anything. Choose --mode full, or leave --fresh-layers out."
            )
        if self.fits_head and self.num_fresh_layers:
            raise RecipeError(
                "The head is to be fitted, but the layers to begin anew are "
                f"{self.num_fresh_layers}, and those know nothing yet that a head could be fitted "
                "to. Choose --draw-head, or leave --fresh-layers out."
            )
