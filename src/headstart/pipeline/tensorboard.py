"""A run's log as TensorBoard files, beside its own; needs the extra `tensorboard`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headstart.errors import RecipeError

TENSORBOARD_FOLDER = "tensorboard"
# What of a line of the log is a curve.
CURVES = ("loss", "rate", "norm", "tokens_per_second", "bits_per_byte", "next_accuracy")


def tensorboard_writer(run: Path, first_step: int) -> Callable[[Mapping[str, Any]], None]:
    """Returns a function that takes lines of the log; what lay beyond the first step is hidden."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise RecipeError(
            "TensorBoard files need the tensorboard library, which is not installed. "
            "Run: pip install 'headstart[tensorboard]'."
        ) from error
    writer = SummaryWriter(str(run / TENSORBOARD_FOLDER), purge_step=first_step + 1)

    def write(row: Mapping[str, Any]) -> None:
        for name in CURVES:
            if (value := row.get(name)) is not None:
                writer.add_scalar(f"{row['kind']}/{name}", value, row["step"])
        if row["kind"] == "valid":
            writer.flush()

    return write
