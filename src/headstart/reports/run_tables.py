"""Runs as tables: what one is worth, and what there is."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headstart.reports.numbers import show_bytes, show_count, show_duration, show_share
from headstart.reports.table import Table


def results_table(folder: Path, results: Mapping[str, Any]) -> Table:
    """Returns what a finished run is worth."""
    scores = results["held_out"]
    rows = [
        ("held-out loss", f"{scores['loss']:.4f} nats a piece"),
        ("perplexity", f"{scores['perplexity']:,.2f}"),
        ("bits for each byte", f"{scores['bits_per_byte']:.4f}"),
    ]
    if scores["next_accuracy"] is not None:
        share = show_share(scores["next_accuracy"])
        rows.append(("next sentence right", f"{share} of {scores['num_pairs']:,} pairs"))
    rows += [
        ("best step", f"{results['best_step']:,} of {results['steps']:,}"),
        ("tokens read", f"{show_count(results['tokens'])} in {results['epochs']:.2f} epochs"),
        ("time", show_duration(results["seconds"])),
        ("tokens a second", show_count(results["tokens_per_second"])),
    ]
    return Table(title=f"Run {folder}", columns=("what", "value"), rows=tuple(rows))


def runs_table(summaries: Iterable[Mapping[str, Any]]) -> Table:
    """Returns the list of runs, each given by its fields."""
    rows = tuple(
        (
            str(run["folder"]),
            run["recipe"],
            run["objective"],
            run["state"],
            f"{run['step']:,} of {run['num_steps']:,}",
            "" if run["bits_per_byte"] is None else f"{run['bits_per_byte']:.4f}",
            show_bytes(run["num_bytes"]),
        )
        for run in summaries
    )
    columns = ("run", "recipe", "objective", "state", "steps", "bits/byte", "size")
    return Table(
        title="Runs",
        columns=columns,
        rows=rows,
        numeric=frozenset({"steps", "bits/byte", "size"}),
        notes=("Go on with one: headstart resume RUN",),
    )
