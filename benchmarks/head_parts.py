"""What does each part of the exact vocabulary head take on a GPU, and is its answer right?

First the check: the kernel against PyTorch's own functions, and loss and gradients against double
precision. Then the three bare products, the pass at several sizes of block, and the whole head at
several sizes of chunk, forward and backward. Takes about half a minute; prints a table, and keeps a
record with --keep.

    python benchmarks/head_parts.py [--positions 65536] [--pieces 50001] [--width 200] [--keep]
"""

import argparse
import statistics
from collections.abc import Callable

import torch
import torch.nn.functional as F
from record import can_ask, keep
from torch import Tensor

from headstart.objectives.vocabulary_loss import exponentials, folded
from headstart.objectives.vocabulary_loss.chunked import summed_loss

NUM_REPETITIONS = 7
CHUNKS = [8_192, 16_384, 32_768]
# Positions whose logits are made and passed over at once, before the next: do they stay in cache?
SLABS = [256, 512, 1_024, 2_048, 16_384]
# Logits at hand and warps: what `triton_pass` has first, then its neighbours.
BLOCKS = [(2_048, 4), (4_096, 8), (8_192, 16), (4_096, 4), (8_192, 8), (16_384, 16), (16_384, 32)]
# As in the tests.
HALF_LOSS, HALF_GRADIENT = 2e-3, 1.5e-2


def main() -> None:
    given = arguments()
    if not can_ask("cuda"):
        return
    torch.manual_seed(0)
    found: dict[str, object] = {"errors": check(given.pieces, given.width)}
    print(found["errors"])
    found["milliseconds"] = parts(given) | slabs(given) | wholes(given)
    if given.keep:
        work = f"{given.positions:,} positions, {given.pieces:,} pieces, width {given.width}"
        keep("head-parts", {"work": work, **found}, "cuda")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--positions", type=int, default=65_536)
    parser.add_argument("--pieces", type=int, default=50_001)
    parser.add_argument("--width", type=int, default=200)
    parser.add_argument("--keep", action="store_true", help="write a record")
    return parser.parse_args()


def made_up(num_positions: int, num_pieces: int, width: int) -> tuple[list[Tensor], Tensor]:
    shapes = [(num_positions, width), (num_pieces, width), (num_pieces,)]
    inputs = [torch.randn(shape, device="cuda") for shape in shapes]
    inputs[1] *= width**-0.5
    target = torch.randint(num_pieces, (num_positions,), device="cuda")
    return [part.requires_grad_() for part in inputs], target


def head(inputs: list[Tensor], target: Tensor, smoothing: float = 0.0) -> tuple[Tensor, ...]:
    """Returns the mean loss and its gradients in half precision, as training asks for them."""
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = summed_loss(*inputs, target, label_smoothing=smoothing) / len(target)
    return loss.detach(), *torch.autograd.grad(loss, inputs)


def check(num_pieces: int, width: int) -> dict[str, float]:
    """Returns how far the head is from double precision; stops where that is too far."""
    assert exponentials.kernel_pass() is not None, "no kernel could be made"
    errors = {}
    inputs, target = made_up(1_536, num_pieces, width)
    for smoothing in (0.0, 0.1):
        exact_inputs = [part.detach().double().requires_grad_() for part in inputs]
        logits = F.linear(*exact_inputs)
        exact = F.cross_entropy(logits, target, label_smoothing=smoothing)
        wanted = (exact.detach(), *torch.autograd.grad(exact, exact_inputs))
        names = ("loss", "vectors", "table", "bias")
        for name, ours, theirs in zip(names, head(inputs, target, smoothing), wanted, strict=True):
            error = float((ours.double() - theirs).norm() / theirs.norm())
            errors[f"{name}, smoothing {smoothing}"] = round(error, 6)
            assert error < (HALF_LOSS if name == "loss" else HALF_GRADIENT), (name, error)
    return errors


def milliseconds(work: Callable[[], object], name: str) -> float:
    """Returns the median time of some work on the device, recorded as in training, and shows it."""
    for _ in range(2):
        work()
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        work()
    times = []
    for _ in range(NUM_REPETITIONS):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop))
    median = statistics.median(times)
    print(f"{median:8.3f} ms ({min(times):.3f} to {max(times):.3f})  {name}", flush=True)
    return median


def parts(given: argparse.Namespace) -> dict[str, float]:
    """Times the products and the pass, each over all positions in chunks."""
    from headstart.objectives.vocabulary_loss import triton_pass

    inputs, target = made_up(given.positions, given.pieces, given.width)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        factors = folded._Factors.of(*inputs)
    hidden, table = factors.hidden_NW, factors.table_PW
    found, aim = {}, exponentials.Aim(given.pieces, 1.0)
    for size in CHUNKS:
        num_chunks = -(-given.positions // size)
        buffer = torch.empty(size, len(table), dtype=table.dtype, device="cuda")
        chunk, target_C = hidden[:size], target[:size]
        works = {
            "logits": lambda b=buffer, c=chunk: torch.mm(c, table.T, out=b),
            "gradient of vectors": lambda b=buffer: b @ table,
            "gradient of table": lambda b=buffer, c=chunk: folded.wide_product(b.T, c),
        }
        blocks = BLOCKS if size == 16_384 else BLOCKS[:1]
        for name, work in works.items():
            buffer.normal_()
            found[f"{name}, chunks of {size}"] = milliseconds(
                lambda w=work, n=num_chunks: [w() for _ in range(n)], f"{name}, chunks of {size}"
            )
        for block, warps in blocks:
            triton_pass.BLOCK, triton_pass.NUM_WARPS = block, warps
            name = f"pass, chunks of {size}, block {block}, {warps} warps"
            works = [lambda b=buffer, t=target_C: triton_pass.triton_pass(b, t, aim)] * num_chunks
            found[name] = milliseconds(lambda w=works: [one() for one in w], name)
        triton_pass.BLOCK, triton_pass.NUM_WARPS = BLOCKS[0]
        del buffer, works
    return found


def slabs(given: argparse.Namespace) -> dict[str, float]:
    """Times logits and pass together, some positions at a time."""
    inputs, target = made_up(16_384, given.pieces, given.width)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        factors = folded._Factors.of(*inputs)
    hidden, table, aim = factors.hidden_NW, factors.table_PW, exponentials.Aim(given.pieces, 1.0)
    buffer = hidden.new_empty(len(hidden), len(table))
    num_chunks = given.positions // len(hidden)

    def work(size: int) -> None:
        for parts in zip(*(each.split(size) for each in (hidden, target, buffer)), strict=True):
            exponentials.write_exponentials(parts[0], table, parts[1], aim, parts[2])

    found = {}
    for size in SLABS:
        name = f"logits and pass, slabs of {size}"
        found[name] = milliseconds(lambda n=size: [work(n) for _ in range(num_chunks)], name)
    return found


def wholes(given: argparse.Namespace) -> dict[str, float]:
    """Times the whole head, forward and backward, with the memory it takes."""
    inputs, target = made_up(given.positions, given.pieces, given.width)
    found = {}
    for size in CHUNKS:
        num_columns = folded.aligned(given.pieces, folded.PIECE_ALIGNMENT)
        folded.NUM_CHUNK_BYTES = size * num_columns * 2
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        head(inputs, target)
        gib = (torch.cuda.max_memory_allocated() - before) / 2**30
        name = f"whole head, chunks of {size}, {gib:.2f} GiB"
        found[name] = milliseconds(lambda: head(inputs, target), name)
    name = "whole head, label smoothing, chunks as the last"
    found[name] = milliseconds(lambda: head(inputs, target, 0.1), name)
    return found


if __name__ == "__main__":
    main()
