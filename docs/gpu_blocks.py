"""How fast a GPU learns, each table from the newest record of its question."""

from collections.abc import Callable, Mapping
from functools import partial

from page_parts import Record, block_of, measured

OURS = "headstart"
FLOOR = "floor: three bare products"
# Of the parts of the head, those at the size of chunk that is used.
CHUNK = "chunks of 16384"
PARTS = {
    f"logits, {CHUNK}": "logits, a matrix product",
    f"pass, {CHUNK}, block 2048, 4 warps": "the one pass: exponentials, sums, losses",
    f"gradient of vectors, {CHUNK}": "gradient of the vectors, a matrix product",
    f"gradient of table, {CHUNK}": "gradient of the table, a matrix product",
}


def step_block(record: Record) -> str:
    """Returns the speed and memory of whole steps."""
    speeds, seconds, memory = (record[key] for key in ("tokens_per_second", "seconds", "gibibytes"))
    columns = ("training step", "tokens/s (lowest to highest)", "its time by ours", "peak memory")
    num_tokens = record["tokens"]
    rows = [
        (
            name,
            f"{speed:,.0f} ({num_tokens / seconds[name]['max_seconds']:,.0f} to "
            f"{num_tokens / seconds[name]['min_seconds']:,.0f})",
            f"{speeds[OURS] / speed:.2f}",
            f"{memory[name]['peak']:.2f} GiB" if name in memory else "",
        )
        for name, speed in speeds.items()
    ]
    peers = {
        name: speed for name, speed in speeds.items() if name != FLOOR and not name.startswith(OURS)
    }
    best = max(peers, key=peers.__getitem__)
    note = (
        f"{record['work']}: {speeds[OURS] / peers[best]:.2f} times the best peer ({best}). The "
        "floor is the head's three matrix products alone, every operand padded."
    )
    return measured("Whole steps on one GPU", columns, rows, note, record)


def head_block(record: Record) -> str:
    """Returns where the time of the exact head goes."""
    found = record["milliseconds"]
    whole = next(name for name in found if name.startswith(f"whole head, {CHUNK}"))
    columns = ("part of the head", "milliseconds")
    rows = [(shown, f"{found[name]:.2f}") for name, shown in PARTS.items()]
    rows.append(("the whole of it", f"{found[whole]:.2f}"))
    errors = [
        max(value for name, value in record["errors"].items() if name.startswith(part))
        for part in ("loss", "vectors", "table", "bias")
    ]
    note = (
        f"{record['work']}; medians of launches that were recorded. From double precision the loss "
        f"is off by {errors[0]:.1g} of itself, the gradients by at most {max(errors[1:]):.1%} of "
        "their norms."
    )
    return measured("The exact head, forward and backward", columns, rows, note, record)


def fine_tuning_block(record: Record) -> str:
    """Returns how long transfers take from file to classifier."""
    columns = ("recipe", "seconds (lowest to highest)", "the first one")
    rows = [
        (
            f"`{name}`",
            f"{one['median']:.1f} ({min(one['seconds']):.1f} to {max(one['seconds']):.1f})",
            f"{one['first']:.1f}",
        )
        for name, one in record["seconds"].items()
    ]
    return measured("Learning labels on one GPU", columns, rows, f"{record['work']}.", record)


GPU_BLOCKS: Mapping[str, Callable[[], str]] = {
    "bench-gpu-step": partial(block_of, "gpu-step", step_block),
    "bench-head-parts": partial(block_of, "head-parts", head_block),
    "bench-gpu-fine-tuning": partial(block_of, "gpu-fine-tuning", fine_tuning_block),
}
