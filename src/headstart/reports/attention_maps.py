"""Attention by layer and head, as small maps with what each head mostly does."""

import numpy as np
from numpy.typing import NDArray

from headstart.cut_text import WORD_START
from headstart.evaluation.explanation import AttentionMaps
from headstart.reports.page import Html, element, escape, figure_html, join, paragraph
from headstart.reports.page.heat_map import heat_map

GRID = "display:grid;grid-template-columns:repeat(auto-fill,minmax(7.5rem,1fr));gap:.2rem .9rem"
ABOUT = (
    "Each square is a pair of pieces: a row is a piece that asks, a column one that answers, and "
    "the stronger its colour, the more of that answer is taken; the largest share of each map has "
    "the full colour. Below each head stands where it looks most on average."
)


def attention_html(maps: AttentionMaps) -> Html:
    """Returns the maps of all heads, layer by layer, above the pieces that they are of."""
    notes = [ABOUT]
    num_shown = len(maps.pieces)
    if num_shown < maps.num_pieces:
        notes.append(
            f"The maps show the first {num_shown} of the {maps.num_pieces:,} pieces that were "
            "read; what a piece takes from later ones is left out, so that rows may add up to less."
        )
    layers = [
        join(element("h3", escape(f"Layer {number}")), layer_html(layer))
        for number, layer in enumerate(maps.layers, start=1)
    ]
    return join(*(paragraph(escape(note)) for note in notes), *layers, pieces_html(maps.pieces))


def layer_html(layer: NDArray[np.float32]) -> Html:
    """Returns the maps of one layer side by side."""
    figures = [
        figure_html(
            # Of many pieces each has little: against the largest, the pattern can be seen.
            heat_map(weights / weights.max(), f"Head {number}"),
            escape(f"{number}: {habit(weights)}; at most {100 * weights.max():.0f} %"),
        )
        for number, weights in enumerate(layer, start=1)
    ]
    return element("div", figures, {"style": GRID})


def habit(weights: NDArray[np.float32]) -> str:
    """Says where a head looks most, on average over the pieces that ask."""
    length = len(weights)
    shares = {
        "itself": float(np.trace(weights)) / length,
        "the one before": float(np.trace(weights, offset=-1)) / length,
        "the one behind": float(np.trace(weights, offset=1)) / length,
        # The first piece itself aside, for which this is no habit.
        "the first": float(weights[1:, 0].sum()) / length,
    }
    name, share = max(shares.items(), key=lambda pair: pair[1])
    if share < 0.25:
        return "many places"
    return f"{name}, {100 * share:.0f} %"


def pieces_html(pieces: tuple[str, ...]) -> Html:
    """Returns the pieces in order, numbered as they stand in the maps."""
    items = [element("li", escape(piece.replace(WORD_START, "·"))) for piece in pieces]
    style = "columns:7rem;font-family:var(--mono);font-size:.8rem;max-width:none"
    return element(
        "details",
        [
            element("summary", escape("The pieces, in the order of rows and columns")),
            element("ol", items, {"style": style}),
        ],
    )
