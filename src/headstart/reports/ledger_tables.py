"""The ledger as tables: parameters, shorthands, operations, bytes, minutes, complexity."""

from collections.abc import Iterator

from headstart.models.accounting.complexity import Complexity, LayerTimings
from headstart.models.accounting.duration import Machine
from headstart.models.accounting.ledger import Anatomy, Ledger, Rehearsed
from headstart.models.accounting.operations import Work
from headstart.models.accounting.parameters import Part
from headstart.models.accounting.quantity import Quantity
from headstart.models.accounting.quoted import Quoted
from headstart.models.heads.config import LabelHeadConfig
from headstart.reports.numbers import show_bytes, show_count, show_duration, show_operations
from headstart.reports.table import Table

TASK_TITLES = {
    "language-model": "as a language model",
    "classification": "as a classifier",
    "translation": "as a translator",
}


def anatomy_tables(anatomy: Anatomy) -> Iterator[Table]:
    """Yields the tables of a ledger and of what was seen beside it, in reading order."""
    ledger = anatomy.ledger
    yield summary_table(ledger)
    yield parameter_table(ledger)
    yield shorthand_table(ledger)
    if ledger.quoted is not None:
        yield quoted_table(ledger.quoted)
    yield work_table(ledger)
    yield memory_table(ledger)
    yield projection_table(ledger)
    if anatomy.rehearsed is not None:
        yield rehearsed_table(anatomy.rehearsed)
    yield complexity_table(ledger.complexity)
    if anatomy.timings is not None:
        yield timings_table(anatomy.timings)


def summary_table(ledger: Ledger) -> Table:
    """The answers first, and what the letters of the formulas stand for."""
    projection = ledger.projection
    flops = ledger.forward_per_token + ledger.backward_per_token
    return Table(
        title=title(ledger),
        columns=("what", "value"),
        rows=(
            ("parameters", show_count(ledger.num_parameters)),
            ("of them learning", show_count(ledger.num_trainable)),
            ("operations a token, trained", show_operations(flops)),
            ("memory of a step", show_bytes(ledger.memory.peak)),
            ("seconds of a step", f"{show_duration(projection.step_seconds)} predicted"),
        ),
        notes=(symbols(ledger),),
    )


def title(ledger: Ledger) -> str:
    """Names the model and what it does."""
    task, head = TASK_TITLES[ledger.task], ledger.model.head
    labels = f" of {head.num_labels} labels" if isinstance(head, LabelHeadConfig) else ""
    frozen = ", trunk frozen" if ledger.step.is_frozen else ""
    return f"{ledger.name} {task}{labels}{frozen}"


def symbols(ledger: Ledger) -> str:
    """Says what the letters of the formulas stand for, with their values here."""
    stack, step = ledger.model.trunk.reading_stack, ledger.step
    values = {
        "V pieces": f"{stack.vocabulary_size:,}",
        "d width": f"{stack.width:,}",
        "f feed-forward width": f"{stack.layer.feed_forward_width:,}",
        "N layers": f"{stack.num_layers:,}",
        "n length": f"{step.length:,}",
        "p share of positions answered": f"{step.answered_share:g}",
    }
    return "Letters: " + ", ".join(f"{name} = {value}" for name, value in values.items()) + "."


def parameter_table(ledger: Ledger) -> Table:
    """Parameters by part, each with its formula."""
    rows = [row for part in ledger.parts for row in part_rows(part)]
    rows.append(("total", "", "", show_count(ledger.num_parameters)))
    rows.append(("trainable", "", "", show_count(ledger.num_trainable)))
    return Table(
        title="Parameters by part",
        columns=("part", "formula", "in numbers", "parameters"),
        rows=tuple(rows),
        numeric=frozenset({"parameters"}),
        notes=("Derived twice, from the formulas and from the built modules; both agree.",),
    )


def part_rows(part: Part) -> Iterator[tuple[str, str, str, str]]:
    """Yields the row of a part and, where it has an inside or copies, the rows below it."""
    formula, numbers = part.each.formula, part.each.numbers
    if part.copies > 1:
        formula, numbers = f"{part.copies} × one layer", f"{part.copies} × {part.each.value:,}"
    yield part.name, formula, numbers, show_count(part.count)
    each = "each: " if part.copies > 1 else ""
    for row in part.inside:
        yield f"  {each}{row.name}", row.each.formula, row.each.numbers, show_count(row.each.value)


def shorthand_table(ledger: Ledger) -> Table:
    """The rough counts that circulate, and what each leaves out of this model."""
    rows = []
    for row in ledger.shorthands:
        counts = (show_count(row.rough.value), show_count(row.exact), f"{row.error:+,}")
        rows.append((row.rough.formula, row.about, *counts))
        rows += [
            ("", f"  {what}", "", "", f"{-count:+,}") for what, count in row.leaves_out.items()
        ]
    return Table(
        title="Shorthand counts, and by how much each is wrong here",
        columns=("shorthand", "for, and what it leaves out", "gives", "exact", "wrong by"),
        rows=tuple(rows),
        numeric=frozenset({"gives", "exact", "wrong by"}),
    )


def quoted_table(quoted: Quoted) -> Table:
    """The size usually quoted beside the exact one, and what other readings would add."""
    return Table(
        title=f"{quoted.count / 1e6:.0f} M is usually quoted ({quoted.source})",
        columns=("reading", "parameters", "from the exact count"),
        rows=(
            ("exact, as built here", show_count(quoted.exact), ""),
            ("quoted", show_count(quoted.count), f"{quoted.count - quoted.exact:+,}"),
            *(
                (reading, show_count(quoted.exact + change), f"{change:+,}")
                for reading, change in quoted.readings.items()
            ),
        ),
        numeric=frozenset({"parameters", "from the exact count"}),
        notes=(
            "No reading of biases, norms or sharing gives the quoted size. The vocabulary, which "
            "the paper gives as about 37,000, can: this shape rounds to it with "
            f"{quoted.smallest_vocabulary:,} to {quoted.largest_vocabulary:,} pieces.",
        ),
    )


def work_table(ledger: Ledger) -> Table:
    """Operations for each token and for a step, forward and backward."""
    step = ledger.step
    each = "pair of tokens" if ledger.task == "translation" else "token"
    forward, backward = ledger.forward_per_token, ledger.backward_per_token
    total = show_operations(ledger.flops_per_step)
    return Table(
        title=f"Operations for each {each} at length {step.length:,}",
        columns=("part", "formula", "forward", "backward"),
        rows=(
            *(work_row(part) for part in ledger.work),
            ("total", "", show_operations(forward), show_operations(backward)),
        ),
        numeric=frozenset({"forward", "backward"}),
        notes=(
            f"A step of {step.sequences:,} × {step.length:,} = {step.num_tokens:,} tokens takes "
            f"{total}.",
            "Matrix products only, a multiplication with its addition as two.",
        ),
    )


def work_row(part: Work) -> tuple[str, str, str, str]:
    """Returns the row of one part's operations."""
    return (
        part.name,
        part.forward.formula,
        show_operations(part.forward.value),
        show_operations(part.backward),
    )


def memory_table(ledger: Ledger) -> Table:
    """Bytes by what they are for."""
    memory, tokens = ledger.memory, show_count(ledger.step.num_tokens)
    return Table(
        title=f"Memory of a training step of {tokens} tokens, in single precision",
        columns=("for", "bytes"),
        rows=(
            ("weights", show_bytes(memory.weights)),
            ("gradients", show_bytes(memory.gradients)),
            ("optimiser", show_bytes(memory.optimiser)),
            ("activations kept for the backward pass", show_bytes(memory.activations)),
            ("logits and their gradients", show_bytes(memory.logits)),
            ("peak", show_bytes(memory.peak)),
        ),
        numeric=frozenset({"bytes"}),
        notes=("Gradients come as activations go, so the peak is below the sum.",),
    )


def projection_table(ledger: Ledger) -> Table:
    """Seconds for a step, minutes for a run, and whether it fits."""
    projection, step = ledger.projection, ledger.step
    tokens_per_second = step.num_tokens / projection.step_seconds
    rows = [
        ("matrix rate", f"{show_operations(projection.machine.matrix_rate)}/s"),
        *pass_rows(projection.machine),
        ("a step", show_duration(projection.step_seconds)),
        ("tokens a second", show_count(tokens_per_second)),
    ]
    if projection.seconds is not None:
        asked = f"{show_count(projection.num_tokens or 0)} tokens"
        rows.append((asked, show_duration(projection.seconds)))
    if projection.most_sequences is not None:
        rows.append(("does it fit?", fit_sentence(ledger)))
    return Table(
        title=f"Predicted for {projection.machine.name}",
        columns=("what", "prediction"),
        rows=tuple(rows),
        notes=()
        if projection.machine.pass_rate
        else ("A lower bound, at the full matrix rate: real runs reach a part of it.",),
    )


def pass_rows(machine: Machine) -> list[tuple[str, str]]:
    """Returns the row of the rate at which memory is passed over, where it is known."""
    if machine.pass_rate is None:
        return []
    return [("a pass over memory", f"{show_bytes(machine.pass_rate)}/s")]


def fit_sentence(ledger: Ledger) -> str:
    """Says whether a step fits the machine's memory whole, in parts, or not at all."""
    most, wanted = ledger.projection.most_sequences or 0, ledger.step.sequences
    if ledger.projection.fit == "no":
        return f"no: not even one sequence of {ledger.step.length:,} pieces does"
    if ledger.projection.fit == "whole":
        return f"yes: all {wanted:,} sequences of a step at once"
    num_parts = -(-wanted // most)
    return (
        f"yes, in parts: {most:,} of a step's {wanted:,} sequences at a time, "
        f"gradients accumulated over {num_parts:,}"
    )


def complexity_table(complexity: Complexity) -> Table:
    """How attention, recurrence and convolution scale at this length."""
    return Table(
        title=(
            f"Complexity of a layer at length n = {complexity.length:,}, width d = "
            f"{complexity.width:,}, kernel k = {complexity.kernel:,}"
        ),
        columns=("layer", "operations", "in numbers", "sequential steps", "longest path"),
        rows=tuple(
            (
                layer.kind,
                layer.operations.formula,
                show_count(layer.operations.value),
                with_value(layer.sequential_steps),
                with_value(layer.longest_path),
            )
            for layer in complexity.layers
        ),
        numeric=frozenset({"in numbers"}),
        notes=(
            f"Cheapest here: {complexity.cheapest}. Attention costs more than recurrence from "
            f"length {complexity.recurrent_is_cheaper_from:,} on, and more than convolution from "
            f"{complexity.convolution_is_cheaper_from:,} on.",
        ),
    )


def with_value(quantity: Quantity) -> str:
    """Returns a formula with its value, or the value alone where it is the formula."""
    value = show_count(quantity.value)
    return value if value == quantity.formula else f"{quantity.formula} = {value}"


def rehearsed_table(rehearsed: Rehearsed) -> Table:
    """Predicted against seen: as promised before, and at the rates seen beside the steps."""
    seen = rehearsed.seen_seconds
    rows = []
    for what, seconds in (
        ("a step, as predicted above", rehearsed.promised_seconds),
        ("a step, at the rates seen beside it", rehearsed.predicted_seconds),
    ):
        if seconds is not None:
            gap = difference(seen, seconds)
            rows.append((what, show_duration(seconds), show_duration(seen), gap))
    if rehearsed.seen_bytes is not None:
        predicted = rehearsed.predicted_bytes
        gap = difference(rehearsed.seen_bytes, predicted)
        rows.append(("peak memory", show_bytes(predicted), show_bytes(rehearsed.seen_bytes), gap))
    rate = show_operations(rehearsed.machine.matrix_rate)
    return Table(
        title="Verified by real steps",
        columns=("what", "predicted", "seen", "difference"),
        rows=tuple(rows),
        numeric=frozenset({"predicted", "seen", "difference"}),
        notes=(f"The matrix rate seen beside the steps: {rate}/s.",),
    )


def difference(seen: float, predicted: float) -> str:
    """Returns how far what was seen lies from what was predicted."""
    return f"{100 * (seen / predicted - 1):+.0f} %"


def timings_table(timings: LayerTimings) -> Table:
    """The measured layers over growing lengths: a row a length, then how each grows."""
    kinds = tuple(layer.kind for layer in timings.layers)
    rows = [
        (f"{length:,}", *(show_duration(layer.seconds[index]) for layer in timings.layers))
        for index, length in enumerate(timings.lengths)
    ]
    rows.append(("grows as", *(f"n^{layer.seen_exponent:.2f}" for layer in timings.layers)))
    rows.append(("expected", *(f"n^{layer.expected_exponent:.2f}" for layer in timings.layers)))
    return Table(
        title=f"Measured, one sequence forward, width {timings.width:,}, kernel {timings.kernel}",
        columns=("length n", *kinds),
        rows=tuple(rows),
        numeric=frozenset({"length n", *kinds}),
        notes=(
            "Exponents over the longer half; expected from all operations, attention's projections "
            "(4·n·d²) too, which the comparison above leaves out.",
        ),
    )
