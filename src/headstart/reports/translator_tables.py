"""A translator's worth as a table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headstart.reports.numbers import show_count, show_duration
from headstart.reports.table import Table

WEIGHTS = {
    "best": "those of the best look",
    "averaged": "the average of the last ones",
}


def translator_table(folder: Path, results: Mapping[str, Any]) -> Table:
    """Returns what a finished translator is worth."""
    return Table(
        title=f"Run {folder}",
        columns=("what", "value"),
        rows=tuple(translator_rows(results)),
        notes=(f"Use it: headstart translate {folder} TEXT",),
    )


def translator_rows(results: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the same, a row each."""
    valid, pairs = results["valid"], results["pairs"]
    return [
        ("BLEU", f"{valid['bleu']:.2f} on {valid['num_sentences']:,} validation pairs, greedy"),
        ("validation loss", f"{valid['loss']:.4f} nats a piece"),
        ("best step", f"{results['best_step']:,} of {results['steps']:,}"),
        ("final weights", WEIGHTS[results["weights"]]),
        ("pairs", f"{pairs['train']:,} learned from, {pairs['valid']:,} to choose by"),
        ("tokens", f"{show_count(results['tokens'])} of targets in {results['epochs']:.2f} epochs"),
        ("time", show_duration(results["seconds"])),
        ("tokens a second", show_count(results["tokens_per_second"])),
    ]
