"""Figures: one file a subject, and this table of them; each is drawn from a record alone."""

from collections.abc import Callable, Mapping

from matplotlib.figure import Figure

from headstart.models.accounting.ledger import Anatomy
from headstart.reports.figures import complexity, parameters, positions, square_mask

# A figure is None where its subject has nothing to show.
ANATOMY_FIGURES: Mapping[str, Callable[[Anatomy], Figure | None]] = {
    "mask": square_mask.draw,
    "positions": positions.draw_encoding,
    "position-similarity": positions.draw_similarity,
    "parameters": parameters.draw,
    "complexity": complexity.draw_predicted,
    "complexity-measured": complexity.draw_measured,
}
