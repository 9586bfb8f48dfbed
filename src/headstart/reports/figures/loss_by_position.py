"""How well each position is predicted, also beyond the length that was trained."""

from collections.abc import Sequence
from typing import Protocol

from matplotlib.figure import Figure

from headstart.reports.figures.style import BLUE, GREEN, GREY, ORANGE, new_axes


class PositionScores(Protocol):
    """The loss at each stretch of positions, of texts of one length."""

    @property
    def length(self) -> int:
        """The length of the texts."""

    @property
    def places(self) -> Sequence[int]:
        """The middle of each stretch."""

    @property
    def losses(self) -> Sequence[float]:
        """The mean loss in each stretch."""


def draw(scores: Sequence[PositionScores], trained_length: int, title: str) -> Figure:
    """Draws one line for each length; the trained one ends at the dotted line."""
    figure, axes = new_axes(7, 4.2, title)
    colours = (BLUE, GREEN, ORANGE, GREY)
    for row, colour in zip(scores, colours, strict=False):
        axes.plot(row.places, row.losses, color=colour, label=f"texts of {row.length:,} pieces")
    axes.axvline(trained_length, color=GREY, linestyle=":", linewidth=1)
    axes.text(
        trained_length, 0.98, " trained length", va="top", transform=axes.get_xaxis_transform()
    )
    axes.set_xlabel("position")
    axes.set_ylabel("loss (nats a piece)")
    axes.legend(frameon=False)
    return figure
