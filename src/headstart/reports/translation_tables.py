"""A translator's scores as tables: its own, and beside those of another on the same sentences."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headstart.reports.table import Table

NAMES = {"bleu": "BLEU", "chrf": "chrF"}
# What a difference must reach to be called one; Koehn's test counts draws that go against it.
LARGEST_P = 0.05


def translation_tables(
    run: Path, found: Mapping[str, Any], other: Path | None = None
) -> Iterator[Table]:
    """Yields what a translator is worth on a test, and how far it is from another."""
    yield score_table(run, found)
    if other is not None and found["against"] is not None:
        yield difference_table(run, other, found["against"])


def score_table(run: Path, found: Mapping[str, Any]) -> Table:
    """Returns the scores of one translator, with their intervals and signatures."""
    scores, loss = found["scores"], found["loss"]
    rows = [(name, *score_cells(scores, key)) for key, name in NAMES.items()]
    if found["clean"] is not None:
        rows += [
            (f"{name}, clean test", *score_cells(found["clean"], key))
            for key, name in NAMES.items()
        ]
    notes = [
        f"BLEU: {scores['signature']}",
        f"chrF: {scores['chrf_signature']}",
        f"{scores['num_sentences']:,} sentences; 95 % intervals over other such sentences, from "
        f"{scores['num_samples']:,} draws.",
    ]
    if found["num_copied"] is None:
        notes.append("The pairs that the run learned from are gone, so that copies are not known.")
    elif found["num_copied"]:
        notes.append(
            f"{found['num_copied']:,} sources are among the pairs that the run learned from; the "
            "clean test leaves them out."
        )
    if loss["num_too_long"]:
        notes.append(
            f"The loss leaves out {loss['num_too_long']:,} pairs that are too long for this run."
        )
    return Table(
        title=f"Run {run}",
        columns=("score", "value", "95 % interval"),
        rows=(*rows, ("loss, nats a piece", f"{loss['nats']:.4f}", "")),
        numeric=frozenset({"value"}),
        notes=tuple(notes),
    )


def score_cells(scores: Mapping[str, Any], key: str) -> tuple[str, str]:
    """Returns a score and its interval."""
    return f"{scores[key]:.2f}", f"{scores[f'{key}_low']:.2f} to {scores[f'{key}_high']:.2f}"


def difference_table(run: Path, other: Path, against: Mapping[str, Any]) -> Table:
    """Returns two translators side by side, with how sure their difference is."""
    rows = tuple(
        (
            name,
            f"{against[key]['one']:.2f}",
            f"{against[key]['other']:.2f}",
            f"{against[key]['difference']:+.2f}",
            f"{against[key]['low']:+.2f} to {against[key]['high']:+.2f}",
            f"{against[key]['p']:.3f}",
        )
        for key, name in NAMES.items()
    )
    return Table(
        title=f"{run} against {other}",
        columns=("score", "this", "other", "difference", "95 % interval", "p"),
        rows=rows,
        numeric=frozenset({"this", "other", "difference", "p"}),
        notes=(verdict(against["bleu"]), draws_note(against)),
    )


def verdict(bleu: Mapping[str, float]) -> str:
    """Says which of two translators is better by BLEU, if any is."""
    if bleu["p"] >= LARGEST_P or bleu["low"] <= 0 <= bleu["high"]:
        return "By BLEU neither is clearly better on such sentences."
    side = "above" if bleu["difference"] > 0 else "below"
    return f"By BLEU this run is clearly {side} the other on such sentences."


def draws_note(against: Mapping[str, Any]) -> str:
    """Says what the intervals and p are of."""
    return (
        f"Paired bootstrap over {against['num_sentences']:,} sentences, "
        f"{against['num_samples']:,} draws; of these two runs, not of other seeds."
    )
