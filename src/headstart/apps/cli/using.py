"""What the commands that use a run share: the run, where it works, and the text it is given."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from headstart.apps.cli.options import THREADS, packed
from headstart.apps.cli.run_type import RUN_TYPE
from headstart.corpora.lines import is_whole
from headstart.errors import DataError

if TYPE_CHECKING:
    from headstart.pipeline.classifier import Classifier
    from headstart.pipeline.run_folder import Run
    from headstart.training.config import Precision

STANDARD_INPUT = "-"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the work is done."""

    device: str
    num_threads: int | None


place_options = packed(
    "place",
    Place,
    click.option("--device", default="auto", show_default=True, help="cpu, cuda, or auto."),
    click.option("--threads", "num_threads", type=THREADS, help="Threads to use."),
)
run_argument = click.argument("run", type=RUN_TYPE)


def open_run(folder: Path, device: str, num_threads: int | None) -> Run:
    """Loads a run onto the device that was asked for."""
    from headstart.pipeline.run_folder import load_run

    return load_run(folder, prepared_device(device, num_threads))


def open_classifier(folder: Path, place: Place, precision: Precision = "fp32") -> Classifier:
    """Loads a run that knows labels onto the device that was asked for."""
    from headstart.pipeline.classifier import load_classifier

    return load_classifier(folder, prepared_device(place.device, place.num_threads), precision)


def prepared_device(device: str, num_threads: int | None) -> str:
    """Returns the device that was asked for, and has PyTorch use so many threads."""
    import torch

    from headstart.pipeline.this_machine import choose_device

    if num_threads is not None:
        torch.set_num_threads(num_threads)
    return choose_device(device)


def standard_input() -> BinaryIO:
    """Returns what comes in as bytes, or says that nothing can."""
    if sys.stdin is None:
        raise DataError(
            f"Standard input is closed, so {STANDARD_INPUT} stands for no text. Send the text in "
            "by a pipe, or give it in place of the dash."
        )
    return sys.stdin.buffer


def given_text(text: str) -> str:
    """Returns a text as it was typed, or what comes in where it is a dash."""
    if text == STANDARD_INPUT:
        try:
            text = standard_input().read().decode()
        except UnicodeDecodeError as error:
            raise DataError("What came in is not UTF-8. Convert it, such as with iconv.") from error
        # The end of the last line is the pipe's, not the text's.
        text = text.removesuffix("\n").removesuffix("\r")
    if not is_whole(text):
        raise DataError(f"{text!r} is not UTF-8. Convert it, such as with iconv.")
    return text
