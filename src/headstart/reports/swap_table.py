"""What a model took from a run as a table: what was loaded, what is new, and the proof."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from headstart.reports.table import Table


def swap_table(swap: Mapping[str, Any]) -> Table:
    """Returns a row for each tensor of a model that took another's trunk."""
    rows = tuple(
        (
            tensor["name"],
            show_shape(tensor["shape"]),
            tensor["fate"],
            f"{tensor['norm_before']:.4g}",
            f"{tensor['norm_after']:.4g}",
        )
        for tensor in swap["tensors"]
    )
    counts = Counter(tensor["fate"] for tensor in swap["tensors"])
    return Table(
        title="The head swap",
        columns=("tensor", "shape", "fate", "norm as drawn", "norm at the start"),
        rows=rows,
        numeric=frozenset({"shape", "norm as drawn", "norm at the start"}),
        notes=(
            f"{', '.join(f'{count} {fate}' for fate, count in counts.most_common())}. The loaded "
            f"ones have the SHA-256 {swap['loaded_sha256'][:16]}, in this model as in the run they "
            "come from.",
        ),
    )


def start_table(start: Mapping[str, Any]) -> Table:
    """Returns a row for each tensor of a translator, and of the run that it began from."""
    tensors = start["tensors"]
    rows = tuple(
        (
            tensor["name"],
            show_shape(tensor["shape"]),
            tensor["fate"],
            "" if tensor["source"] in {None, tensor["name"]} else str(tensor["source"]),
            show_shape(tensor["source_shape"] or ()),
            "" if tensor["norm_before"] is None else f"{tensor['norm_before']:.4g}",
            "" if tensor["norm_after"] is None else f"{tensor['norm_after']:.4g}",
        )
        for tensor in tensors
    )
    counts = Counter(tensor["fate"] for tensor in tensors)
    numeric = ("shape", "its shape", "norm as drawn", "norm at the start")
    return Table(
        title="The start",
        columns=("tensor", "shape", "fate", "in the run", *numeric[1:]),
        rows=rows,
        numeric=frozenset(numeric),
        notes=(
            f"{', '.join(f'{count} {fate}' for fate, count in counts.most_common())}. The loaded "
            f"ones have the SHA-256 {start['loaded_sha256'][:16]}, here as in the run.",
        ),
    )


def show_shape(shape: Sequence[int]) -> str:
    """Returns a shape as people write it."""
    return " x ".join(f"{size:,}" for size in shape)
