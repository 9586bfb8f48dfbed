"""A comparison of translators as tables, and its verdict in a sentence."""

from collections.abc import Iterator, Mapping
from typing import Any

from headstart.reports.table import Table

NAMES = {"bleu": "BLEU", "chrf": "chrF"}
ONE_SEED = (
    "From one seed nothing can be said about other seeds: these intervals count sentences alone. "
    "Ask again with at least 3 seeds."
)


def comparison_tables(results: Mapping[str, Any]) -> Iterator[Table]:
    """Yields the scores of both systems over seeds, and those of each seed."""
    of, to = results["systems"]
    yield Table(
        title=f"{of} against {to}",
        columns=("score", of, to, "difference", "p"),
        rows=tuple(
            (
                name,
                with_interval(results[key]["of"]),
                with_interval(results[key]["to"]),
                with_interval(results[key]["difference"], is_signed=True),
                f"{results[key]['difference']['p']:.3f}",
            )
            for key, name in NAMES.items()
        ),
        numeric=frozenset({of, to, "difference", "p"}),
        notes=(
            f"Means over {num_seeds(results)} and {results['num_sentences']:,} sentences; in "
            "brackets, 95 % intervals over other seeds and other such sentences.",
            *(f"{name}: {results[key]['signature']}" for key, name in NAMES.items()),
        ),
    )
    yield seed_table(results)


def seed_table(results: Mapping[str, Any]) -> Table:
    """Returns the BLEU of both systems from each seed."""
    of, to = results["systems"]
    bleu = results["bleu"]
    return Table(
        title="BLEU by seed",
        columns=("seed", of, to, "difference"),
        rows=tuple(
            (str(seed), f"{one:.2f}", f"{other:.2f}", f"{one - other:+.2f}")
            for seed, (one, other) in enumerate(
                zip(bleu["of_by_seed"], bleu["to_by_seed"], strict=True)
            )
        ),
        numeric=frozenset({"seed", of, to, "difference"}),
    )


def verdict_lines(results: Mapping[str, Any]) -> Iterator[str]:
    """Yields whether pretraining helps, by BLEU, and what stands against believing it."""
    difference = results["bleu"]["difference"]
    low, high = (f"{difference[end]:+.2f}" for end in ("low", "high"))
    points = f"{difference['mean']:+.2f} BLEU ({low} to {high})"
    where = f"over {num_seeds(results)} and {results['num_sentences']:,} sentences"
    if difference["low"] > 0:
        yield f"Pretraining helps: {points} {where}."
    elif difference["high"] < 0:
        yield f"Pretraining hurts: {points} {where}."
    else:
        yield f"There is no evidence that pretraining helps here: {points} {where}."
    if results["num_copied"]:
        yield (
            f"{results['num_copied']:,} of the {results['num_sentences']:,} test sources are among "
            "the training pairs too: both systems may know them by heart."
        )
    if results["num_seeds"] == 1:
        yield ONE_SEED


def with_interval(score: Mapping[str, float], *, is_signed: bool = False) -> str:
    """Returns a score with its interval."""
    sign = "+" if is_signed else ""
    mean, low, high = (f"{score[name]:{sign}.2f}" for name in ("mean", "low", "high"))
    return f"{mean} ({low} to {high})"


def num_seeds(results: Mapping[str, Any]) -> str:
    """Returns how many seeds there were, in words."""
    return f"{results['num_seeds']} {'seed' if results['num_seeds'] == 1 else 'seeds'}"
