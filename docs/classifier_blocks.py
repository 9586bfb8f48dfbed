"""How fast classifiers learn, answer and start, each from the newest record of its question."""

from collections.abc import Callable, Mapping
from functools import partial

from page_parts import Record, block_of, provenance

SPREAD = "seconds (lowest to highest)"
RATES = f"{SPREAD} | reviews/s | its time by ours |"


def spread(row: Record) -> str:
    """Returns a median with its lowest and highest."""
    low, high = row["min_seconds"], row["max_seconds"]
    return f"{row['median_seconds']:.2f} ({low:.2f} to {high:.2f})"


def rate_rows(record: Record) -> list[str]:
    """Returns a row for each contestant: its seconds, its reviews/s, and how often ours goes."""
    return [
        f"| {name} | {spread(row)} | {record['reviews'] / row['median_seconds']:,.0f} | "
        f"{record['ratios'][name]:.2f} |"
        for name, row in record["seconds"].items()
    ]


def fine_tuning(record: Record) -> str:
    """Returns how fast reviews are learned from."""
    lines = [
        f"| learning from {record['reviews']:,} reviews | {RATES}",
        "|---|---:|---:|---:|",
        *rate_rows(record),
    ]
    note = (
        f"{record['work']}; {100 * record['padding_share']:.1f} % of what Headstart reads is "
        "padding."
    )
    return "\n".join([*lines, "", note, provenance(record)])


def predicting(record: Record) -> str:
    """Returns how fast reviews are labelled, one and many."""
    lines = ["| one review, one core | p50, by round | p95 |", "|---|---:|---:|"]
    for name, row in record["one"].items():
        low, high = row["p50_ms_of_rounds"]
        half = f"{row['p50_ms']:.1f} ms ({low:.1f} to {high:.1f})"
        lines.append(f"| {name} | {half} | {row['p95_ms']:.1f} ms |")
    lines += [
        "",
        f"| {record['reviews']:,} reviews | {RATES}",
        "|---|---:|---:|---:|",
        *rate_rows(record),
    ]
    note = f"{record['work']}. One review: {record['one_ratio']:.2f} times the pipeline's speed."
    return "\n".join([*lines, "", note, provenance(record)])


def predicting_speed(record: Record) -> str:
    """Returns one sentence of the same."""
    ours, seconds = record["one"]["headstart"], record["seconds"]["headstart"]
    one = best_of_theirs({name: row["p50_ms"] for name, row in record["one"].items()})
    many = best_of_theirs(record["ratios"])
    return (
        f"One review of 100 pieces, one core of {record['machine']['processor']}: "
        f"{ours['p50_ms']:.1f} ms, the best Hugging Face pipeline of the same shape takes "
        f"{one / ours['p50_ms']:.1f} times as long. {record['reviews']:,} reviews, two cores: "
        f"{seconds['median_seconds']:.1f} s, the best pipeline {many:.1f} times as long, "
        f"which is {best_of_theirs(record['ratios'], is_half=False):.1f} in single precision "
        f"([benchmarks](benchmarks/README.md), {record['date']})."
    )


def best_of_theirs(found: Mapping[str, float], *, is_half: bool = True) -> float:
    """Returns the least of what the peers need, in half precision too or without."""
    return min(
        value
        for name, value in found.items()
        if name.startswith("Hugging Face") and (is_half or not name.endswith("in bf16"))
    )


def starting(record: Record) -> str:
    """Returns how long processes take to start."""
    lines = [f"| a new process | {SPREAD} |", "|---|---:|"]
    lines += [f"| {name} | {spread(row)} |" for name, row in record["seconds"].items()]
    note = f"{record['work']}: {record['ratio']:.2f} times as soon as the pipeline."
    return "\n".join([*lines, "", note, provenance(record)])


CLASSIFIER_BLOCKS: Mapping[str, Callable[[], str]] = {
    "bench-fine-tuning": partial(block_of, "fine-tuning", fine_tuning),
    "bench-predicting": partial(block_of, "predicting", predicting),
    "predict-speed": partial(block_of, "predicting", predicting_speed),
    "bench-starting": partial(block_of, "starting", starting),
}
