"""The head swap as a table: what was loaded, what is new, and the proof."""

from collections.abc import Mapping
from typing import Any

from headstart.reports.table import Table


def swap_table(swap: Mapping[str, Any]) -> Table:
    """Returns a row for each tensor of a model that took another's trunk."""
    rows = tuple(
        (
            tensor["name"],
            " x ".join(f"{size:,}" for size in tensor["shape"]),
            tensor["fate"],
            f"{tensor['norm_before']:.4g}",
            f"{tensor['norm_after']:.4g}",
        )
        for tensor in swap["tensors"]
    )
    num_loaded = sum(tensor["fate"] == "loaded" for tensor in swap["tensors"])
    return Table(
        title="The head swap",
        columns=("tensor", "shape", "fate", "norm as drawn", "norm at the start"),
        rows=rows,
        numeric=frozenset({"shape", "norm as drawn", "norm at the start"}),
        notes=(
            f"{num_loaded} tensors loaded, {len(rows) - num_loaded} new. The loaded ones have the "
            f"SHA-256 {swap['loaded_sha256'][:16]}, in this model as in the run they come from.",
        ),
    )
