"""The positional encoding as a picture, and how alike two positions are by their distance.

Legend: L positions, D columns.
"""

from matplotlib.figure import Figure
from torch import Tensor

from headstart.models.accounting.ledger import Anatomy
from headstart.models.positions import angles, sinusoids
from headstart.reports.figures.style import BLUE, GREY, new_axes


def draw_encoding(anatomy: Anatomy) -> Figure | None:
    """Draws the encoding of each position; learned ones show nothing before they are trained."""
    trunk, length = anatomy.ledger.model.trunk.reading_stack, anatomy.ledger.step.length
    if trunk.positions == "learned":
        return None
    is_rotary = trunk.positions == "rotary"
    width = trunk.layer.head_width if is_rotary else trunk.width
    table_LD = angles(length, width).cos() if is_rotary else sinusoids(length, width)
    what = "cosines by which a head's pairs are turned" if is_rotary else "sines and cosines added"
    figure, axes = new_axes(7, 4.6, f"{trunk.positions.capitalize()} positions: the {what}")
    image = axes.imshow(
        table_LD.T.numpy(), aspect="auto", cmap="RdBu", vmin=-1, vmax=1, origin="lower"
    )
    axes.set_xlabel("position")
    axes.set_ylabel("pair" if is_rotary else "column")
    figure.colorbar(image, ax=axes, shrink=0.9)
    return figure


def draw_similarity(anatomy: Anatomy) -> Figure | None:
    """Draws the likeness of two positions against the distance between them."""
    trunk, length = anatomy.ledger.model.trunk.reading_stack, anatomy.ledger.step.length
    if trunk.positions == "learned":
        return None
    width = trunk.layer.head_width if trunk.positions == "rotary" else trunk.width
    similarity_L = similarity_by_distance(length, width)
    figure, axes = new_axes(7, 4, "Near positions are alike, wherever they stand")
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.plot(range(length), similarity_L.numpy(), color=BLUE)
    axes.set_xlabel("distance between two positions")
    axes.set_ylabel("similarity (cosine)")
    return figure


def similarity_by_distance(length: int, width: int) -> Tensor:
    """The cosine of two encodings: the mean cosine of their angles' differences, at any place."""
    return angles(length, width).cos().mean(dim=1)
