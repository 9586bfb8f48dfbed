"""How every figure looks, and how it becomes a file's bytes."""

import io
import math
import warnings
from collections.abc import Mapping, Sequence

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

BLUE, ORANGE, GREEN, GREY = "#2f6db3", "#d9772b", "#3d9970", "#8a8f98"
KIND_COLOURS: Mapping[str, str] = {
    "self-attention": BLUE,
    "recurrent": ORANGE,
    "convolutional": GREEN,
}
FORMATS = ("png", "svg")
PNG_DOTS_PER_INCH = 150
# Steps between ticks are differences, and not quite what they stand for.
ROUNDING = 1e-9


def new_axes(width: float, height: float, title: str) -> tuple[Figure, Axes]:
    """Returns a figure of so many inches with one plain pair of axes."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def show_percents(axis: Axis) -> None:
    """Writes the ticks of an axis of shares as the tables do, such as "75 %"."""
    # Steps of 2.5 would need a digit that those of 2 and 5 can do without.
    axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10]))
    axis.set_major_formatter(
        lambda share, _place: f"{100 * share:.{num_digits(axis.get_majorticklocs().tolist())}f} %"
    )


def num_digits(shares: Sequence[float]) -> int:
    """Returns the digits behind the point that steps between ticks have in percent."""
    if len(shares) < 2:
        return 0
    step = 100 * (shares[1] - shares[0])
    return max(0, -math.floor(math.log10(step) + ROUNDING))


def render(figure: Figure, file_format: str) -> bytes:
    """Returns a figure as the bytes of a file, the same bytes for the same figure."""
    return drawn(figure, file_format, is_inside=False)


def render_for_page(figure: Figure) -> bytes:
    """Returns a figure as SVG for the inside of a page: text stays text, on no ground."""
    return drawn(figure, "svg", is_inside=True)


def drawn(figure: Figure, file_format: str, *, is_inside: bool) -> bytes:
    """Returns the bytes of a figure, for a file of its own or for the inside of a page."""
    buffer = io.BytesIO()
    metadata = {"Date": None} if file_format == "svg" else None
    text = "none" if is_inside else "path"
    salted = rc_context({"svg.hashsalt": "headstart", "svg.fonttype": text})
    with salted, warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes; in a page it reads as it should.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        # Laid out once: every further drawing would move things again, if ever so little.
        if figure.get_layout_engine() is not None:
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        figure.savefig(
            buffer,
            format=file_format,
            dpi=PNG_DOTS_PER_INCH,
            metadata=metadata,
            transparent=is_inside,
        )
    return buffer.getvalue()
