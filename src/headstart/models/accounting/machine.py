"""This machine's matrix rate and pass rate, measured in under two seconds."""

import contextlib
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

from headstart.models.accounting.duration import Machine
from headstart.randomness import torch_generator

MATRIX_SHARE = 0.6
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
NUM_FEWEST_REPETITIONS = 3
# 128 MiB, beyond most caches, so that memory itself is timed.
NUM_PASS_NUMBERS = 32 << 20


def measure_machine(device: str, budget_seconds: float = 1.0) -> Machine:
    """Measures a device's rates in single precision, with the threads that PyTorch now uses."""
    # Large enough for the device's full rate, small enough to repeat in half a second.
    side = 8_192 if device.startswith("cuda") else 1_024
    generator = torch_generator(0, "machine", device=device)
    factor = torch.randn(side, side, device=device, generator=generator)
    numbers = torch.ones(NUM_PASS_NUMBERS, device=device)
    matrix_seconds = median_seconds(lambda: factor @ factor, MATRIX_SHARE * budget_seconds, device)
    # Into memory at hand: how long fresh memory takes depends on what the process did before.
    result = torch.empty_like(numbers)
    pass_seconds = median_seconds(
        lambda: torch.add(numbers, 1, out=result), (1 - MATRIX_SHARE) * budget_seconds, device
    )
    return Machine(
        name=describe(device),
        matrix_rate=2 * side**3 / matrix_seconds,
        pass_rate=2 * numbers.nbytes / pass_seconds,
        memory_bytes=memory_bytes(device),
        is_gpu=device.startswith("cuda"),
    )


def median_seconds(action: Callable[[], object], budget_seconds: float, device: str) -> float:
    """Repeats an action for about so long and returns its median duration."""
    action()  # the first loads kernels and pages, and is never typical
    durations: list[float] = []
    while sum(durations) < budget_seconds or len(durations) < NUM_FEWEST_REPETITIONS:
        synchronise(device)
        started_at = time.perf_counter()
        action()
        synchronise(device)
        durations.append(time.perf_counter() - started_at)
    return statistics.median(durations)


def synchronise(device: str) -> None:
    """Waits for a device that works behind the program's back."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def describe(device: str) -> str:
    """Names a device and, for a processor, how many threads work on it."""
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    num_threads = torch.get_num_threads()
    return f"this machine's processor, {num_threads} {'thread' if num_threads == 1 else 'threads'}"


def memory_bytes(device: str) -> int | None:
    """Returns the memory of a device, or None where the system does not say."""
    if device.startswith("cuda"):
        return int(torch.cuda.get_device_properties(device).total_memory)
    if not hasattr(os, "sysconf"):
        return None
    num_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    # A container may have less than the machine it runs on.
    with contextlib.suppress(OSError, ValueError):
        num_bytes = min(num_bytes, int(CONTAINER_LIMIT.read_text()))
    return num_bytes
