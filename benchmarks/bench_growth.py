"""How do the speed and the memory of a whole training step grow, and does the ledger say so?

The documents' model in other sizes: its length, its vocabulary, its width and its batch change one
at a time from a base shape that two cores can do, or with `--device cuda` from a larger one. Each
point has a process of its own, in which memory is counted before anything is timed; Headstart's own
step and the plain one, which the ledger counts, take turns. Beside them stands what the ledger
predicts from operations and bytes at the rates that this machine had meanwhile, and for each axis
the exponent of each, fitted on log axes over the upper half of its points.

    python benchmarks/bench_growth.py [--device cuda] [--tiny]
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from multiprocessing import get_context

from growth_steps import OURS, PLAIN, Shape, Taken, measured, predicted
from record import can_ask, keep

from headstart.models.accounting.duration import Machine
from headstart.models.accounting.layer_timing import fit_exponent
from headstart.training.rehearsal import typical

LEDGER = "ledger"
QUANTITIES = ("tokens_per_second", "peak_bytes")
# On a GPU a name of its own, so that neither record hides the other.
QUESTIONS = {"cpu": "growth", "cuda": "growth-gpu"}

Axes = Mapping[str, Sequence[int]]
BASES = {
    "cpu": Shape(length=256, vocabulary=4_096, width=128, batch=2, num_layers=2),
    "cuda": Shape(length=512, vocabulary=32_768, width=512, batch=32, num_layers=6),
    "tiny": Shape(length=8, vocabulary=64, width=16, batch=2, num_layers=1),
}
LENGTHS = (64, 128, 256, 512, 1_024, 2_048, 4_096)
VOCABULARIES = (1_024, 4_096, 16_384, 65_536, 262_144)
AXES: Mapping[str, Axes] = {
    "cpu": {
        "length": LENGTHS,
        "vocabulary": VOCABULARIES,
        "width": (64, 128, 256, 512, 1_024),
        "batch": (2, 4, 8, 16, 32, 64),
    },
    "cuda": {
        "length": LENGTHS,
        "vocabulary": (1_024, 4_096, 16_384, 32_768, 65_536, 131_072, 262_144),
        "width": (128, 256, 512, 1_024, 2_048),
        "batch": (1, 4, 8, 16, 32, 64, 128),
    },
    "tiny": {"length": (8, 16, 32), "vocabulary": (64, 128, 256)},
}

Measured = Mapping[Shape, Mapping[str, Taken]]


def main() -> None:
    given = arguments()
    if not can_ask(given.device):
        return
    size = "tiny" if given.tiny else given.device
    base, axes = BASES[size], AXES[size]
    points, machine = measure(shapes(base, axes), given.device)
    found = {axis: grown(axis, base, axes[axis], points, machine) for axis in axes}
    show(found)
    if not given.tiny:
        answer = {
            "work": f"lab in other sizes, {base.num_layers} layers, a whole AdamW step",
            "base": asdict(base),
            "pass_gigabytes_per_second_beside": (machine.pass_rate or 0) / 1e9,
            "matrix_gflops_per_second_beside": machine.matrix_rate / 1e9,
            "axes": found,
        }
        keep(QUESTIONS[given.device], answer, given.device)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=sorted(QUESTIONS), default="cpu")
    parser.add_argument("--tiny", action="store_true", help="a few small shapes, without a record")
    return parser.parse_args()


def shapes(base: Shape, axes: Axes) -> list[Shape]:
    """Returns every shape that an axis has, each once: the base is on all of them."""
    every = (replace(base, **{axis: value}) for axis, values in axes.items() for value in values)
    return list(dict.fromkeys(every))


def measure(wanted: Sequence[Shape], device: str) -> tuple[Measured, Machine]:
    """Measures each shape in a process of its own; returns the machine as it was meanwhile too."""
    points, machines = {}, []
    for number, shape in enumerate(wanted, start=1):
        print(f"{number} of {len(wanted)}: {shape}", file=sys.stderr)
        with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as executor:
            points[shape], machine = executor.submit(measured, shape, device).result()
        machines.append(machine)
    return points, typical(machines)


def grown(
    axis: str, base: Shape, values: Sequence[int], points: Measured, machine: Machine
) -> dict[str, object]:
    """Returns the points of one axis with their predictions, and the exponents of all."""
    rows: list[dict[str, dict[str, float]]] = []
    for value in values:
        shape = replace(base, **{axis: value})
        taken = {name: one.as_json(shape.num_tokens) for name, one in points[shape].items()}
        rows.append({LEDGER: predicted(shape, machine), **taken})
    exponents = {
        quantity: {
            name: fit_exponent(values, [row[name][quantity] for row in rows])
            for name in (LEDGER, PLAIN, OURS)
        }
        for quantity in QUANTITIES
    }
    return {"values": list(values), "points": rows, "exponents": exponents}


def show(found: Mapping[str, Mapping[str, object]]) -> None:
    """Prints the exponents."""
    for axis, part in found.items():
        for quantity, exponents in part["exponents"].items():
            shown = ", ".join(f"{name} {exponent:+.2f}" for name, exponent in exponents.items())
            print(f"{axis:12}{quantity:20}{shown}")


if __name__ == "__main__":
    main()
