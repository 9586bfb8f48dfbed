"""How the cost of three kinds of layer grows with the length, on log axes: predicted, measured."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headstart.models.accounting.complexity import LayerTimings, complexity
from headstart.models.accounting.ledger import Anatomy
from headstart.reports.figures.style import GREY, KIND_COLOURS, new_axes

PREDICTED_LENGTHS = tuple(2**power for power in range(4, 15))


def draw_predicted(anatomy: Anatomy) -> Figure:
    """Draws the operations of each kind of layer, and the lengths at which attention is passed."""
    asked = anatomy.ledger.complexity
    figure, axes = new_axes(
        7, 4.6, f"Operations of one layer, d = {asked.width}, k = {asked.kernel}"
    )
    costs = [complexity(length, asked.width, asked.kernel) for length in PREDICTED_LENGTHS]
    for index, layer in enumerate(asked.layers):
        operations = [cost.layers[index].operations.value for cost in costs]
        label = f"{layer.kind}: {layer.operations.formula}"
        axes.plot(PREDICTED_LENGTHS, operations, color=KIND_COLOURS[layer.kind], label=label)
    for length in (asked.recurrent_is_cheaper_from, asked.convolution_is_cheaper_from):
        axes.axvline(length - 1, color=GREY, linestyle=":", linewidth=1)
        axes.text(length - 1, 0.02, f" n = {length - 1:,}", transform=axes.get_xaxis_transform())
    finish(axes, "operations")
    return figure


def draw_measured(anatomy: Anatomy) -> Figure | None:
    """Draws the seconds of real layers with the exponents that fit them."""
    if anatomy.timings is None:
        return None
    timings: LayerTimings = anatomy.timings
    title = f"Seconds of one real layer, d = {timings.width}, k = {timings.kernel}"
    figure, axes = new_axes(7, 4.6, title)
    for layer in timings.layers:
        seen, expected = layer.seen_exponent, layer.expected_exponent
        label = f"{layer.kind}: n^{seen:.2f} (expected n^{expected:.2f})"
        colour = KIND_COLOURS[layer.kind]
        axes.plot(timings.lengths, layer.seconds, color=colour, marker="o", label=label)
    finish(axes, "seconds")
    return figure


def finish(axes: Axes, quantity: str) -> None:
    """Sets log axes, names and the legend."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("length n")
    axes.set_ylabel(quantity)
    axes.legend(frameon=False)
