"""Tables and records as Markdown."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from record import newest

from headstart.reports.table import Table

Record = Mapping[str, Any]
Row = tuple[str, ...]
NO_RECORD = "No record yet."


def records_of(*questions: str) -> Iterator[tuple[str, Record]]:
    """Yields each question that was answered, with its newest record."""
    for question in questions:
        try:
            yield question, newest(question)
        except FileNotFoundError:
            continue


def block_of(question: str, block: Callable[[Record], str]) -> str:
    """Returns the block of a question's newest record, or that there is none yet."""
    return "".join(block(record) for _, record in records_of(question)) or NO_RECORD


def markdown(table: Table) -> str:
    """Returns a table as Markdown, its title and notes as sentences around it."""
    rule = "|".join("---:" if column in table.numeric else "---" for column in table.columns)
    rows = [
        " | ".join(row).replace("  each:", "&ensp;each:") for row in (table.columns, *table.rows)
    ]
    lines = [f"| {rows[0]} |", f"|{rule}|", *(f"| {row} |" for row in rows[1:])]
    return "\n".join([f"**{table.title}**", "", *lines, "", *table.notes]).strip()


def provenance(record: Record) -> str:
    """Says where a record comes from."""
    machine, versions = record["machine"], record["versions"]
    rate = machine["matrix_gflops_per_second"]
    measured = "" if rate is None else f"{rate:.0f} GFLOP/s in matrix products, "
    return (
        f"*{record['date']}, {machine['processor']}, {machine['device']}, {measured}"
        f"torch {versions['torch']}, commit {record['commit']}.*"
    )


def done_for(record: Record, program: str) -> str:
    """Returns the lines of a study's record, and how they are done again."""
    words = (
        f"The lines of this record, which `python benchmarks/studies/{program}.py` does. Where its "
        "own budgets, sizes, seeds or places are others by now, its `--minutes`, `--sizes`, "
        "`--seeds`, `--device` and `--workers` ask for these."
    )
    if any("--minutes" in line for line in record["commands"]):
        words += (
            " How far minutes go depends on the machine: `--steps` with the steps of the table "
            "instead of `--minutes` asks for as many."
        )
    if any(run.get("is_given") for run in record.get("runs", {}).values()):
        words += (
            " A trunk that was made before was given by `--trunk NAME=RUN`; it had the minutes of "
            "its table, whatever its line would give it."
        )
    lines = "\n".join(record["commands"])
    return f"{words}\n\n```sh\n{lines}\n```"


def measured(
    title: str, columns: Sequence[str], rows: Sequence[Row], note: str, record: Record
) -> str:
    """Returns a table of what a record measured, names first, with a note and where it is from."""
    table = Table(
        title=title, columns=tuple(columns), rows=tuple(rows), numeric=frozenset(columns[1:])
    )
    return "\n\n".join([markdown(table), f"{note}\n{provenance(record)}"])
