"""How a run learned: its loss on the text it read and on text held out, by step."""

from collections.abc import Iterable, Mapping
from typing import Any

from matplotlib.figure import Figure

from headstart.reports.figures.style import BLUE, GREY, ORANGE, new_axes

# The mean of so many logged steps around each, since single steps jump.
NUM_SMOOTHED = 25


def draw(rows: Iterable[Mapping[str, Any]], title: str) -> Figure:
    """Draws the curves of a run's log."""
    kept = list(rows)
    figure, axes = new_axes(7, 4.2, title)
    steps = [(row["step"], row["loss"]) for row in kept if row["kind"] == "step"]
    valid = [(row["step"], held_out_loss(row)) for row in kept if row["kind"] == "valid"]
    if steps:
        axes.plot(*zip(*steps, strict=True), color=GREY, alpha=0.35, linewidth=0.7)
        axes.plot(*zip(*smoothed(steps), strict=True), color=BLUE, label="text it learned from")
    if valid:
        axes.plot(*zip(*valid, strict=True), color=ORANGE, marker="o", label="held-out text")
    axes.set_xlabel("step")
    axes.set_ylabel("loss (nats)")
    axes.legend(frameon=False)
    return figure


def held_out_loss(row: Mapping[str, Any]) -> float:
    """Returns the loss of a look at held-out data; a language model may add up several."""
    return float(row["total"] if "total" in row else row["loss"])


def smoothed(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Returns means over neighbouring points, at the middle of each stretch."""
    width = max(1, min(NUM_SMOOTHED, len(points) // 4))
    stretches = [points[start : start + width] for start in range(len(points) - width + 1)]
    return [
        (stretch[len(stretch) // 2][0], sum(loss for _, loss in stretch) / len(stretch))
        for stretch in stretches
    ]
