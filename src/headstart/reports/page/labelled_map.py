"""Heat maps with a word at each row and column; maps of the same words share them.

The words are drawn once in a page, and each map points at them: that keeps a page of a hundred
maps small.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headstart.cut_text import WORD_START
from headstart.reports.page.heat_map import heat_map_image
from headstart.reports.page.html import Html, element, escape

# All in units of a drawing: a square is 10 wide, and letters of this size about 4.6.
SQUARE, LETTER_SIZE, LETTER_WIDTH, GAP = 10, 7.5, 4.6, 3
MOST_LETTERS = 14


@dataclass(frozen=True, kw_only=True)
class Axes:
    """The words along the rows and the columns of some maps."""

    key: str
    """The name by which maps point at the words; no two axes of a page have one."""
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def left(self) -> int:
        """The room that the words of the rows need."""
        return room(self.rows)

    @property
    def above(self) -> int:
        """The room that the words of the columns need."""
        return room(self.columns)


def axes_html(axes: Axes) -> Html:
    """Returns the words, which show only where a map points at them."""
    down = [
        word_html(piece, -GAP, SQUARE * (place + 0.75), {"text-anchor": "end"})
        for place, piece in enumerate(axes.rows)
    ]
    along = [
        word_html(piece, GAP, SQUARE * (place + 0.75), {"transform": "rotate(-90)"})
        for place, piece in enumerate(axes.columns)
    ]
    look = {
        "id": axes.key,
        "font-size": f"{LETTER_SIZE}",
        "fill": "currentColor",
        "font-family": "var(--mono)",
    }
    words = element("g", [*down, *along], look)
    hidden = {"width": "0", "height": "0", "style": "position:absolute", "aria-hidden": "true"}
    return element("svg", element("defs", words), hidden)


def labelled_map(shares: NDArray[np.float32], title: str, axes: Axes) -> Html:
    """Returns a map of shares from 0 to 1 beside its words; the title is read aloud."""
    height, width = (SQUARE * length for length in shares.shape)
    inside = [
        element("title", escape(title)),
        *heat_map_image(shares, width, height),
        element("use", (), {"href": f"#{axes.key}"}),
    ]
    corner = f"{-axes.left} {-axes.above}"
    whole = axes.left + width + GAP
    size = {
        "viewBox": f"{corner} {whole} {axes.above + height + GAP}",
        "role": "img",
        "aria-label": title,
        # No larger than words read well at, and no smaller where a page has to scroll.
        "style": f"max-width:{2 * whole}px;min-width:{min(whole, 340)}px",
    }
    return element("svg", inside, size)


def word_html(piece: str, x: float, y: float, extra: dict[str, str]) -> Html:
    """Returns a word at its place."""
    return element("text", escape(shown(piece)), {"x": f"{x:g}", "y": f"{y:g}", **extra})


def shown(piece: str) -> str:
    """Returns a piece as it stands at a map: a dot is the blank before a word."""
    word = piece.replace(WORD_START, "·")
    return word if len(word) <= MOST_LETTERS else f"{word[: MOST_LETTERS - 1]}…"


def room(pieces: tuple[str, ...]) -> int:
    """Returns how much room the longest of some words needs."""
    return 2 * GAP + round(LETTER_WIDTH * max((len(shown(piece)) for piece in pieces), default=0))
