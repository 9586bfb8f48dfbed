"""The ledger as tables: parameters, shorthands, operations, bytes, minutes, complexity."""

from collections.abc import Iterator

from headstart.models.accounting.complexity import Complexity, LayerTimings
from headstart.models.accounting.duration import Machine
from headstart.models.accounting.ledger import Anatomy, Ledger, Rehearsed
from headstart.models.accounting.operations import Work
from headstart.models.accounting.parameters import Part
from headstart.models.accounting.quantity import Quantity
from headstart.models.accounting.quoted import Quoted
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


def parameter_table(ledger: Ledger) -> Table:
    """Parameters by part, each with its formula."""
    rows = [row for part in ledger.parts for row in part_rows(part)]
    rows.append(("total", "", "", show_count(ledger.num_parameters)))
    rows.append(("trainable", "", "", show_count(ledger.num_trainable)))
    return Table(
        title=f"Parameters of {ledger.name} {TASK_TITLES[ledger.task]}",
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
    for row in part.inside:
        yield f"  each: {row.name}", row.each.formula, row.each.numbers, show_count(row.each.value)


def shorthand_table(ledger: Ledger) -> Table:
    """The rough counts that circulate, and what each leaves out of this model."""
    return Table(
        title="Shorthand counts, and by how much each is wrong here",
        columns=("shorthand", "for", "gives", "exact", "wrong by", "what it leaves out"),
        rows=tuple(
            (
                row.rough.formula,
                row.about,
                show_count(row.rough.value),
                show_count(row.exact),
                f"{row.error:+,}",
                "; ".join(f"{what}: {count:,}" for what, count in row.leaves_out.items()),
            )
            for row in ledger.shorthands
        ),
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
            f"the paper gives as about 37,000, can: {quoted.vocabulary_that_matches:,} pieces do.",
        ),
    )


def work_table(ledger: Ledger) -> Table:
    """Operations for each token and for a step, forward and backward."""
    step = ledger.step
    each = "pair of tokens" if ledger.task == "translation" else "token"
    forward = sum(part.forward.value for part in ledger.work)
    backward = sum(part.backward for part in ledger.work)
    total = show_operations(step.num_tokens * (forward + backward))
    return Table(
        title=f"Operations for each {each} at length {step.length:,}",
        columns=("part", "formula", "forward", "backward"),
        rows=(
            *(work_row(part) for part in ledger.work),
            ("total", "", show_operations(forward), show_operations(backward)),
        ),
        numeric=frozenset({"forward", "backward"}),
        notes=(
            f"A step of {step.sequences:,} × {step.length:,} = {step.num_tokens:,} takes {total}.",
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
        else ("At the full matrix rate; what lies between the products comes on top.",),
    )


def pass_rows(machine: Machine) -> list[tuple[str, str]]:
    """Returns the row of the rate at which memory is passed over, where it is known."""
    if machine.pass_rate is None:
        return []
    return [("a pass over memory", f"{show_bytes(machine.pass_rate)}/s")]


def fit_sentence(ledger: Ledger) -> str:
    """Says whether a step fits the machine's memory whole, in parts, or not at all."""
    most, wanted = ledger.projection.most_sequences or 0, ledger.step.sequences
    if most == 0:
        return f"no: not even one sequence of {ledger.step.length:,} pieces does"
    if most >= wanted:
        return f"yes: a step holds {wanted:,} sequences, and {most:,} would fit"
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
    """Predicted against seen."""
    rows = [
        (
            "a step",
            show_duration(rehearsed.predicted_seconds),
            show_duration(rehearsed.seen_seconds),
            difference(rehearsed.seen_seconds, rehearsed.predicted_seconds),
        )
    ]
    if rehearsed.seen_bytes is not None:
        rows.append(
            (
                "peak memory",
                show_bytes(rehearsed.predicted_bytes),
                show_bytes(rehearsed.seen_bytes),
                difference(rehearsed.seen_bytes, rehearsed.predicted_bytes),
            )
        )
    return Table(
        title="Verified by real steps",
        columns=("what", "predicted", "seen", "seen from predicted"),
        rows=tuple(rows),
        numeric=frozenset({"predicted", "seen", "seen from predicted"}),
        notes=(
            f"With the matrix rate seen beside the steps: "
            f"{show_operations(rehearsed.machine.matrix_rate)}/s.",
        ),
    )


def difference(seen: float, predicted: float) -> str:
    """Returns how far what was seen lies from what was predicted."""
    return f"{100 * (seen / predicted - 1):+.0f} %"


def timings_table(timings: LayerTimings) -> Table:
    """The measured layers over growing lengths."""
    return Table(
        title=f"Measured, one sequence forward, width {timings.width:,}, kernel {timings.kernel}",
        columns=(
            "layer",
            *(f"n = {length:,}" for length in timings.lengths),
            "grows as",
            "expected",
        ),
        rows=tuple(
            (
                layer.kind,
                *(show_duration(seconds) for seconds in layer.seconds),
                f"n^{layer.seen_exponent:.2f}",
                f"n^{layer.expected_exponent:.2f}",
            )
            for layer in timings.layers
        ),
        numeric=frozenset(f"n = {length:,}" for length in timings.lengths),
        notes=("Exponents over the longer half; expected from all operations, projections too.",),
    )
