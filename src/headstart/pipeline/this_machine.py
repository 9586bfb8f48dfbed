"""The machine at hand, measured once and remembered; or one that the user only describes."""

import contextlib
import socket
from dataclasses import asdict, replace
from pathlib import Path

import torch

from headstart.errors import FileError, RecipeError
from headstart.files import cache_folder, read_json, write_json
from headstart.models.accounting.duration import Machine
from headstart.models.accounting.machine import describe, measure_machine, memory_bytes

NUM_BYTES_PER_GIB = 1 << 30
NUM_OPERATIONS_PER_TERA = 1e12
# Goes up when rates are measured in another way, so that old ones are not taken for new.
METHOD = "method 2"


def choose_device(name: str) -> str:
    """Returns the device to work on; "auto" is a GPU where there is one."""
    num_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    devices = ["cpu", *(["cuda"] if num_gpus else []), *(f"cuda:{i}" for i in range(num_gpus))]
    if name == "auto":
        return "cuda" if num_gpus else "cpu"
    if name not in devices:
        raise RecipeError(
            f"There is no device {name!r} here. Choose one of: auto, {', '.join(devices)}."
        )
    return name


def described_machine(rate_tera: float, memory_gib: float | None) -> Machine:
    """Returns a machine that is known by its matrix rate and its memory alone."""
    machine = Machine(
        name=f"a machine of {rate_tera:g} TFLOP/s",
        matrix_rate=rate_tera * NUM_OPERATIONS_PER_TERA,
        pass_rate=None,
        memory_bytes=None,
    )
    return machine if memory_gib is None else with_memory(machine, memory_gib)


def with_memory(machine: Machine, memory_gib: float) -> Machine:
    """Returns a machine as it would be with so much memory."""
    return replace(
        machine,
        name=f"{machine.name} with {memory_gib:g} GiB",
        memory_bytes=round(memory_gib * NUM_BYTES_PER_GIB),
    )


def this_machine(device: str) -> Machine:
    """Returns the rates of the machine at hand, measured now if they were never measured."""
    if (known := _read_known().get(_key(device))) is not None:
        return replace(known, memory_bytes=memory_bytes(device))
    machine = measure_machine(device)
    remember(machine, device)
    return machine


def remember(machine: Machine, device: str) -> None:
    """Keeps a measurement for the next time; of two, the faster, since noise only slows."""
    rows = _read_known()
    if (old := rows.get(_key(device))) is not None:
        machine = replace(
            machine,
            matrix_rate=max(machine.matrix_rate, old.matrix_rate),
            pass_rate=max(machine.pass_rate or 0, old.pass_rate or 0) or None,
        )
    rows[_key(device)] = machine
    # A cache that cannot be written costs a second next time, nothing more.
    with contextlib.suppress(FileError):
        write_json(_path(), {name: asdict(row) for name, row in rows.items()})


def _path() -> Path:
    """Returns the file that measurements are kept in."""
    return cache_folder() / "machines.json"


def _key(device: str) -> str:
    """Names all that a measurement depends on, in case a home folder serves several machines."""
    return f"{socket.gethostname()}, {describe(device)}, PyTorch {torch.__version__}, {METHOD}"


def _read_known() -> dict[str, Machine]:
    """Returns the machines measured before; what cannot be read counts as never measured."""
    try:
        rows = read_json(_path())
    except FileError:
        return {}
    known: dict[str, Machine] = {}
    for name, row in rows.items() if isinstance(rows, dict) else ():
        with contextlib.suppress(RecipeError, TypeError):
            known[name] = Machine(**row)
    return known
