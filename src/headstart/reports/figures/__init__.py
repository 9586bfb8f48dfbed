"""Figures: one file a subject, and this table of them; each is drawn from a record alone."""

from collections.abc import Callable, Mapping

from matplotlib.figure import Figure

from headstart.models.accounting.ledger import Anatomy
from headstart.reports.comparison.record import Comparison
from headstart.reports.figures import (
    accuracy_by_labels,
    complexity,
    differences,
    learning_curves,
    parameters,
    positions,
    square_mask,
)

# A figure is None where its subject has nothing to show.
ANATOMY_FIGURES: Mapping[str, Callable[[Anatomy], Figure | None]] = {
    "mask": square_mask.draw,
    "positions": positions.draw_encoding,
    "position-similarity": positions.draw_similarity,
    "parameters": parameters.draw,
    "complexity": complexity.draw_predicted,
    "complexity-measured": complexity.draw_measured,
}
COMPARISON_FIGURES: Mapping[str, Callable[[Comparison], Figure | None]] = {
    "curves": learning_curves.draw,
    "accuracy-by-labels": accuracy_by_labels.draw,
    "differences": differences.draw,
}
