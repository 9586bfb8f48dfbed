"""How cost grows with a shape and with a corpus: tables and figures from the newest records.

`generate.py` puts the folder of records on the path before it imports this.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from growth_figures import LEDGER, OURS, PLAIN, QUANTITIES, draw_preparing, draw_steps
from matplotlib.figure import Figure
from page_parts import block_of, markdown, provenance, records_of

from headstart.files import write_bytes
from headstart.reports.figures.style import FORMATS, render
from headstart.reports.numbers import show_bytes, show_count, show_duration
from headstart.reports.table import Table

Record = Mapping[str, Any]
STEPS = {"growth-cpu": "growth", "growth-gpu": "growth-gpu"}
PREPARING = "preparing"
MEGABYTE = 1e6


def block(name: str) -> str:
    """Returns what a record says of growth, or that there is none yet."""
    made = preparing_block if name == PREPARING else partial(steps_block, name)
    return block_of(STEPS.get(name, name), made)


def steps_block(name: str, record: Record) -> str:
    """Returns the exponents of a training step and its figures."""
    base = record["base"]
    shape = (
        f"The base has length {base['length']:,}, a vocabulary of {base['vocabulary']:,}, width "
        f"{base['width']:,} and {base['batch']:,} sequences a step: {record['work']}. Exponents "
        "are fitted over the upper half of each axis."
    )
    figures = [
        f"![{quantity.title} of a training step](figures/{name}-{quantity.file}.svg)"
        for quantity in QUANTITIES.values()
    ]
    return "\n\n".join(
        [markdown(exponent_table(record)), shape, *figures, errors_line(record), provenance(record)]
    )


def exponent_table(record: Record) -> Table:
    """Returns for each axis by which power of it speed and memory change."""
    columns = ["grows", "from", "to"]
    rows = []
    for quantity in QUANTITIES.values():
        columns += [f"{quantity.short}: {name}" for name in ("ledger", "plain step", "Headstart")]
    for axis, part in record["axes"].items():
        values = part["values"]
        exponents = [
            f"{part['exponents'][key][form]:+.2f}"
            for key in QUANTITIES
            for form in (LEDGER, PLAIN, OURS)
        ]
        rows.append((axis, show_count(values[0]), show_count(values[-1]), *exponents))
    return Table(
        title="By which power of each",
        columns=tuple(columns),
        rows=tuple(rows),
        numeric=frozenset(columns[1:]),
    )


def errors_line(record: Record) -> str:
    """Says how far the ledger was from the plain step, over all points."""
    parts = []
    for key, quantity in QUANTITIES.items():
        ratios = [
            point[PLAIN][key] / point[LEDGER][key]
            for part in record["axes"].values()
            for point in part["points"]
        ]
        parts.append(
            f"in {quantity.short} the plain step has {min(ratios):.2f} to {max(ratios):.2f} of "
            "what was predicted"
        )
    sentence = ", and ".join(parts)
    return f"Over all points, {sentence}."


def preparing_block(record: Record) -> str:
    """Returns the time and memory of preparing a corpus by its size, and its figure."""
    columns = (
        "text",
        "pieces",
        "seconds",
        "MB/s",
        "most memory",
        "of it for the text",
        "`--keep-out`",
    )
    rows = [
        (
            f"{point['num_bytes'] / MEGABYTE:,.0f} MB",
            show_count(point["num_tokens"]),
            show_duration(point["seconds"]),
            f"{point['num_bytes'] / MEGABYTE / point['seconds']:.1f}",
            show_bytes(point["peak_bytes"]),
            show_bytes(point["added_bytes"]),
            f"{point['num_bytes'] / MEGABYTE / point['keep_out_seconds']:.1f} MB/s",
        )
        for point in record["points"]
    ]
    exponents = record["exponents"]
    note = (
        f"Over the upper half of the sizes time grows with the power {exponents['seconds']:+.2f} "
        f"of the text and memory with {exponents['peak_bytes']:+.2f} (what the text adds to the "
        f"program itself, with {exponents['added_bytes']:+.2f}): {record['work']}."
    )
    table = Table(
        title="Preparing a corpus",
        columns=columns,
        rows=tuple(rows),
        numeric=frozenset(columns),
    )
    figure = "![Time and memory of preparing a corpus](figures/growth-preparing.svg)"
    return "\n\n".join([markdown(table), note, figure, provenance(record)])


def figures() -> Iterator[tuple[str, Figure]]:
    """Yields the figures of every record that there is, with the names of their files."""
    for name, question in STEPS.items():
        for _, record in records_of(question):
            for key, quantity in QUANTITIES.items():
                yield f"{name}-{quantity.file}", draw_steps(record, key)
    for _, record in records_of(PREPARING):
        yield "growth-preparing", draw_preparing(record)


def write_growth_figures(folder: Path) -> list[Path]:
    """Draws the figures of every record that there is, and returns the files."""
    paths = []
    for name, figure in figures():
        for file_format in FORMATS:
            path = folder / f"{name}.{file_format}"
            write_bytes(path, render(figure, file_format))
            paths.append(path)
    return paths


GROWTH_BLOCKS: Mapping[str, Callable[[], str]] = {
    name: partial(block, name) for name in (*STEPS, PREPARING)
}
