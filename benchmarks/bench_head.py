"""What does a head over a large vocabulary cost, in chunks and plain, and how much memory?

Forward and backward alone, at several shapes; `bench_language_step.py` has whole steps. The peer is
PyTorch's own: F.linear and F.cross_entropy. Each contestant has a process of its own, since how the
C library treats freed memory is a setting of the whole process; they take turns.
"""

import multiprocessing
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from record import alternate, keep, timed
from torch import Tensor
from worker import Run, Worker

from headstart.objectives.vocabulary_loss.chunked import summed_loss
from headstart.training.allocator import keep_freed_memory, return_freed_memory
from headstart.training.rehearsal import forget_peak, memory_counts

NUM_PIECES, WIDTH = 50_001, 200
# Positions, pieces: 32 x 256 and 16 x 256 texts, and what a small vocabulary or batch has.
SHAPES = [(8_192, NUM_PIECES), (4_096, NUM_PIECES), (600, 8_000), (2_048, 500), (64, 500)]


def plain_head(hidden: Tensor, weight: Tensor, bias: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(F.linear(hidden, weight, bias), target, reduction="sum")


HEADS = {"plain": plain_head, "chunked": summed_loss}


def new_head_step(kind: str, num_positions: int, num_pieces: int) -> Callable[[], None]:
    """Returns the forward and backward of a head on made-up vectors."""
    torch.manual_seed(0)
    shapes = [(num_positions, WIDTH), (num_pieces, WIDTH), (num_pieces,)]
    inputs = [(0.1 * torch.randn(shape)).requires_grad_() for shape in shapes]
    target = torch.randint(num_pieces, (num_positions,))

    def step() -> None:
        torch.autograd.grad(HEADS[kind](*inputs, target), inputs)

    return step


def head_runs(kind: str, *, keeps_memory: bool) -> dict[str, Run]:
    """Returns the timed head of one kind, at each shape."""
    if keeps_memory:
        keep_freed_memory()
    return {
        shape_name(*shape): partial(repeated, new_head_step(kind, *shape), shape)
        for shape in SHAPES
    }


def repeated(step: Callable[[], None], shape: tuple[int, int]) -> float:
    """Does a step so often that a clock can tell, and returns the seconds of one."""
    num_times = max(1, 2_000_000 // (shape[0] * shape[1]))
    return timed(lambda: [step() for _ in range(num_times)]) / num_times


def head_memory(kind: str, num_positions: int, num_pieces: int) -> int:
    """Returns the bytes that a head's step holds at most, beyond its inputs."""
    return_freed_memory()
    new_head_step(kind, 64, 64)()
    step = new_head_step(kind, num_positions, num_pieces)
    forget_peak("cpu")
    before = memory_counts("cpu")
    step()
    after = memory_counts("cpu")
    return after.peak - before.now


def race(contestants: dict[str, Callable[[], dict[str, Run]]], run: str) -> dict[str, object]:
    """Lets contestants take turns, each in its process."""
    workers = {name: Worker(new_runs) for name, new_runs in contestants.items()}
    seconds = alternate({name: partial(worker.run, run) for name, worker in workers.items()})
    for worker in workers.values():
        worker.stop()
    medians = {name: row["median_seconds"] for name, row in seconds.items()}
    peer = next(iter(medians.values()))
    return {"seconds": seconds, "ratios": {name: peer / one for name, one in medians.items()}}


def shape_name(num_positions: int, num_pieces: int) -> str:
    return f"{num_positions} x {num_pieces}"


def in_a_process(question: Callable[[], int]) -> int:
    """Answers a question about memory in a process that has done nothing else."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(question)


def main() -> None:
    heads = {
        "plain, as PyTorch comes": partial(head_runs, "plain", keeps_memory=False),
        "plain, freed memory kept": partial(head_runs, "plain", keeps_memory=True),
        "chunked, freed memory kept": partial(head_runs, "chunked", keeps_memory=True),
    }
    answer = {
        "heads": {shape_name(*shape): race(heads, shape_name(*shape)) for shape in SHAPES},
        "head_bytes": {
            kind: {
                shape_name(*shape): in_a_process(partial(head_memory, kind, *shape))
                for shape in SHAPES[:2]
            }
            for kind in HEADS
        },
    }
    keep("head", {"work": f"the head alone at width {WIDTH}", **answer})


if __name__ == "__main__":
    main()
