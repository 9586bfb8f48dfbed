"""Runs as tables: what one is worth, and what there is."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headstart.evaluation.intervals import share_interval
from headstart.reports.numbers import show_bytes, show_count, show_duration, show_share
from headstart.reports.table import Table


def results_table(folder: Path, results: Mapping[str, Any]) -> Table:
    """Returns what a finished run is worth."""
    rows = tuple(results_rows(results))
    return Table(title=f"Run {folder}", columns=("what", "value"), rows=rows)


def results_rows(results: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns what a finished run is worth, a row each."""
    return [
        *score_rows(results["held_out"], results["held_out"]["perplexity"]),
        ("best step", f"{results['best_step']:,} of {results['steps']:,}"),
        ("tokens read", f"{show_count(results['tokens'])} in {results['epochs']:.2f} epochs"),
        ("time", show_duration(results["seconds"])),
        ("tokens a second", show_count(results["tokens_per_second"])),
    ]


def score_rows(scores: Mapping[str, Any], perplexity: float) -> list[tuple[str, str]]:
    """Returns how well a text was predicted, a row each."""
    rows = [
        ("held-out loss", f"{scores['loss']:.4f} nats a piece"),
        ("perplexity", f"{perplexity:,.2f}"),
        ("bits for each byte", f"{scores['bits_per_byte']:.4f}"),
        ("pieces asked for", show_count(scores["num_pieces"])),
    ]
    if scores["next_accuracy"] is not None:
        share, num_pairs = scores["next_accuracy"], scores["num_pairs"]
        low, high = map(show_share, share_interval(round(share * num_pairs), num_pairs))
        sure = f"{low.removesuffix(' %')} to {high} with 95 % confidence"
        rows.append(("next sentence right", f"{show_share(share)} of {num_pairs:,} pairs, {sure}"))
    return rows


def language_tables(seen: Mapping[str, Any], perplexity: float) -> list[Table]:
    """Returns the scores of a run on a text, and those by length."""
    rows = tuple(score_rows(seen["scores"], perplexity))
    why = (seen["beyond"],) if seen["beyond"] and not seen["by_position"] else ()
    tables = [Table(title="Language", columns=("what", "value"), rows=rows, notes=why)]
    if seen["by_position"]:
        lengths = tuple(
            (
                f"{row['length']:,}",
                f"{row['length'] / seen['trained_length']:g}",
                f"{row['loss']:.4f}",
                f"{row['losses'][-1]:.4f}",
            )
            for row in seen["by_position"]
        )
        columns = ("length", "times the trained one", "loss", "loss at the end")
        notes = ("Documents run together here, so that every position has all before it.",)
        tables.append(
            Table(
                title="By length",
                columns=columns,
                rows=lengths,
                numeric=frozenset(columns),
                notes=(*notes, seen["beyond"]) if seen["beyond"] else notes,
            )
        )
    return tables


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
            "" if run["accuracy"] is None else show_share(run["accuracy"]),
            "" if run["bleu"] is None else f"{run['bleu']:.2f}",
            show_bytes(run["num_bytes"]),
        )
        for run in summaries
    )
    scores = ("bits/byte", "accuracy", "BLEU")
    columns = ("run", "recipe", "objective", "state", "steps", *scores, "size")
    return Table(
        title="Runs",
        columns=columns,
        rows=rows,
        numeric=frozenset({"steps", *scores, "size"}),
        notes=("Go on with one: headstart resume RUN",),
    )
