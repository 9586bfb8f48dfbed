"""Attention of a translator by layer and head: maps with a piece at each row and column."""

import numpy as np
from numpy.typing import NDArray

from headstart.evaluation.translation_explanation import Layers, PairMaps
from headstart.reports.page import Html, element, escape, figure_html, join, paragraph
from headstart.reports.page.labelled_map import Axes, axes_html, labelled_map

COLUMNS = "repeat(auto-fill,minmax(min(22rem,100%),1fr))"
GRID = f"display:grid;grid-template-columns:{COLUMNS};gap:.2rem 1.4rem"
ACROSS, SOURCE, TARGET = "across", "source", "target"


def axes_of(maps: PairMaps) -> dict[str, Axes]:
    """Returns the pieces along the maps of each kind of attention."""
    sides = {
        ACROSS: (maps.written_pieces, maps.source_pieces),
        SOURCE: (maps.source_pieces, maps.source_pieces),
        TARGET: (maps.written_pieces, maps.read_pieces),
    }
    return {
        kind: Axes(key=f"pieces-{kind}", rows=rows, columns=columns)
        for kind, (rows, columns) in sides.items()
    }


def across_html(maps: PairMaps) -> Html:
    """Returns where the translation looked in the source, over all heads and by each of them."""
    axes = axes_of(maps)[ACROSS]
    about = (
        "A row is a piece that is written, a column a piece of the source; the stronger the "
        "colour, the more of that piece is taken. The largest share of each map has the full "
        "colour and stands below it."
    )
    whole = np.mean([layer.mean(axis=0) for layer in maps.across], axis=0)
    return join(
        axes_html(axes),
        *(paragraph(escape(note)) for note in (about, *cut_notes(maps))),
        map_html(whole, "The mean over all layers and heads", axes),
        layers_html(maps.across, axes),
    )


def source_html(maps: PairMaps) -> Html:
    """Returns who looks where while the source is read."""
    axes = axes_of(maps)[SOURCE]
    about = "Every piece of the source may take from every other, before it and behind it."
    return join(axes_html(axes), paragraph(escape(about)), layers_html(maps.source, axes))


def target_html(maps: PairMaps) -> Html:
    """Returns who looks where while the translation is written."""
    axes = axes_of(maps)[TARGET]
    about = (
        "A row is a piece that is written, a column one that had been read by then; the first is "
        "the start, since nothing is written yet. What comes later cannot be taken from."
    )
    return join(axes_html(axes), paragraph(escape(about)), layers_html(maps.target, axes))


def mask_html(maps: PairMaps) -> Html:
    """Returns the square mask, and whether what was found obeys it."""
    about = (
        "Coloured squares may be looked at. In training all rows are computed at once, and this "
        "keeps each from the pieces that it should predict; here it says that the future has no "
        "weight."
    )
    future = maps.largest_future
    found = (
        f"In all maps of the translation over itself the largest weight of the future is "
        f"{future:g}{', exactly' if future == 0 else ''}. In all maps of this page the sum of a "
        f"row misses 1 by at most {maps.largest_gap:.1e}."
    )
    axes = axes_of(maps)[TARGET]
    drawn = labelled_map(maps.may_attend.astype(np.float32), "The square mask", axes)
    return join(paragraph(escape(about)), figure_html(drawn), paragraph(escape(found), "note"))


def layers_html(layers: Layers, axes: Axes) -> Html:
    """Returns the maps of all heads, to be opened layer by layer."""
    return join(
        *(
            element(
                "details",
                [
                    element("summary", escape(f"Layer {number}: {len(layer)} heads")),
                    element(
                        "div",
                        [
                            map_html(weights, f"Layer {number}, head {head}", axes)
                            for head, weights in enumerate(layer, start=1)
                        ],
                        {"style": GRID},
                    ),
                ],
            )
            for number, layer in enumerate(layers, start=1)
        )
    )


def map_html(weights: NDArray[np.float32], title: str, axes: Axes) -> Html:
    """Returns one map with its name and its largest share."""
    most = float(weights.max())
    caption = escape(f"{title}; at most {100 * most:.0f} %")
    # Of many pieces each has little: against the largest, the pattern can be seen.
    return figure_html(labelled_map(weights / most, title, axes), caption)


def cut_notes(maps: PairMaps) -> list[str]:
    """Says which pieces the maps leave out."""
    return [
        f"The maps show the first {len(shown)} of the {num_all:,} pieces of the {side}; what is "
        "taken from later ones is left out, so that rows may add up to less."
        for side, shown, num_all in (
            ("source", maps.source_pieces, maps.num_source_pieces),
            ("translation", maps.written_pieces, maps.num_target_pieces),
        )
        if len(shown) < num_all
    ]
