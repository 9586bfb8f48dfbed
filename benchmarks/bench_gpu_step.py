"""How many tokens a second does a GPU learn from, in whole steps of the documents' language model?

Headstart does the steps that `pretrain` does: recorded, compiled layers, the exact head. The peers
have their best settings: compiled, bf16 autocast, fused AdamW, gradients clipped to a norm as ours
are; one has a vocabulary that is padded to a multiple of 64, which it then learns too. Beside them
stands the floor: the three bare matrix products of the head, with every operand padded.

Text of packed documents, which may not attend to each other, is a contestant of its own.

    python benchmarks/bench_gpu_step.py [--only headstart] [--profile] [--tiny]
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from our_language_step import DrawnRows, our_step
from record import alternate, can_ask, keep
from their_language_models import (
    HAS_X_TRANSFORMERS,
    CompactModel,
    DocumentsModel,
    HuggingFaceModel,
    XTransformersModel,
)
from torch import Tensor, nn

from headstart import find_recipe
from headstart.objectives.vocabulary_loss.folded import aligned
from headstart.pipeline.recipe import with_vocabulary

# The first ones compile, load kernels and record.
NUM_FIRST_STEPS, NUM_STEPS = 5, 8
NUM_PROFILED, NUM_KERNELS_SHOWN = 3, 30
X_TRANSFORMERS = "x-transformers, compiled"
PEERS: dict[str, tuple[Callable[[int, int], nn.Module], int]] = {
    "torch.nn, as the documents wrote it, compiled": (DocumentsModel, 1),
    "hugging face GPT-2, compiled": (HuggingFaceModel, 1),
    X_TRANSFORMERS: (XTransformersModel, 1),
    "in the style of nanoGPT, compiled": (CompactModel, 1),
    "in the style of nanoGPT, compiled, vocabulary padded": (CompactModel, 64),
}


@dataclass(frozen=True)
class Work:
    """The rows that everybody learns from, again and again."""

    rows: DrawnRows
    num_pieces: int
    device: str
    is_compiled: bool

    @staticmethod
    def of(*, is_tiny: bool) -> "Work":
        """Returns rows of a size."""
        sequences, length, num_pieces = (4, 32, 501) if is_tiny else (256, 256, 50_001)
        device = "cpu" if is_tiny else "cuda"
        rows = DrawnRows.of(sequences, length, num_pieces, device)
        return Work(rows, num_pieces, device, is_compiled=not is_tiny)

    @property
    def num_tokens(self) -> int:
        """The pieces of a step."""
        return self.rows.tokens.numel()


def main() -> None:
    given = arguments()
    if not can_ask("cuda", is_tiny=given.tiny):
        return
    torch.set_float32_matmul_precision("high")
    work = Work.of(is_tiny=given.tiny)
    steps: dict[str, Callable[[], object]] = {}
    memory: dict[str, dict[str, float]] = {}
    for name, new_step in contestants(work).items():
        if not given.only or any(part in name for part in given.only):
            steps[name], memory[name] = begun(name, new_step, work.device)
            if given.profile:
                show_kernels(name, steps[name])
    floor = {} if given.tiny else {"floor: three bare products": bare_products(work)}
    runs = {name: timing(step, work.device) for name, step in (steps | floor).items()}
    seconds = alternate(runs, 5 if given.tiny else 7)
    rates = {name: work.num_tokens / row["median_seconds"] for name, row in seconds.items()}
    for name, rate in rates.items():
        print(f"{rate:14,.0f} tokens/s  {memory.get(name, {})}  {name}")
    if not given.tiny:
        answer = {
            "work": f"lab, causal, 256 x 256 pieces of {work.num_pieces:,}, a whole AdamW step",
            "tokens": work.num_tokens,
            "seconds": seconds,
            "tokens_per_second": rates,
            "gibibytes": memory,
        }
        keep("gpu-step", answer, work.device)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="parts of the names of contestants")
    parser.add_argument("--profile", action="store_true", help="show the kernels of each step")
    parser.add_argument("--tiny", action="store_true", help="a small shape, without a record")
    return parser.parse_args()


def contestants(work: Work) -> dict[str, Callable[[], Callable[[], object]]]:
    """Returns how each contestant gets ready to do steps, by name."""
    peers = {name: lambda peer=peer: peer_step(*peer, work) for name, peer in PEERS.items()}
    if not HAS_X_TRANSFORMERS:
        print(f"Left out: {X_TRANSFORMERS}, which is not installed here.", file=sys.stderr)
        del peers[X_TRANSFORMERS]
    ours = {
        "headstart": lambda: step_of(work, None),
        "headstart, packed documents": lambda: step_of(work, drawn_documents(work.rows.tokens)),
    }
    return ours | peers


def drawn_documents(tokens: Tensor) -> Tensor:
    """Returns the number of each piece's document, 100 pieces long on average."""
    return (torch.rand(tokens.shape, device=tokens.device) < 0.01).long().cumsum(1)


def step_of(work: Work, documents: Tensor | None) -> Callable[[], object]:
    """Returns Headstart's step."""
    recipe = with_vocabulary(find_recipe("lab"), work.num_pieces)
    return our_step(recipe, work.rows, "bf16", documents, is_compiled=work.is_compiled)


def peer_step(
    new: Callable[[int, int], nn.Module], multiple: int, work: Work
) -> Callable[[], object]:
    """Returns the step of a peer."""
    model = (
        new(aligned(work.num_pieces, multiple), work.rows.tokens.shape[1]).to(work.device).train()
    )
    compiled = torch.compile(model) if work.is_compiled else model
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step() -> None:
        with torch.autocast(work.device, dtype=torch.bfloat16):
            loss = compiled(work.rows.tokens, work.rows.target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()

    return step


def begun(
    name: str, new_step: Callable[[], Callable[[], object]], device: str
) -> tuple[Callable[[], object], dict[str, float]]:
    """Does a contestant's first steps; returns its step, and the GiB that it took at most."""
    started_at = time.perf_counter()
    before = 0
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    step = new_step()
    for _ in range(NUM_FIRST_STEPS):
        step()
    peak = (torch.cuda.max_memory_allocated() - before) / 2**30 if device == "cuda" else 0.0
    seconds = time.perf_counter() - started_at
    print(f"{name}: ready after {seconds:.1f} s, {peak:.2f} GiB", file=sys.stderr)
    return step, {"peak": round(peak, 3), "seconds_until_ready": round(seconds, 1)}


def show_kernels(name: str, step: Callable[[], object]) -> None:
    """Prints where the time of a step goes, kernel by kernel."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        for _ in range(NUM_PROFILED):
            step()
        wait("cuda" if torch.cuda.is_available() else "cpu")
    kernels = [one for one in seen.key_averages() if one.device_type == DeviceType.CUDA]
    kernels.sort(key=lambda one: -one.self_device_time_total)
    total = sum(one.self_device_time_total for one in kernels) / NUM_PROFILED / 1_000
    print(f"{name}: {total:.3f} ms of kernels a step")
    for one in kernels[:NUM_KERNELS_SHOWN]:
        milliseconds = one.self_device_time_total / NUM_PROFILED / 1_000
        print(f"{milliseconds:8.3f} ms, {one.count / NUM_PROFILED:5.1f} times  {one.key[:110]}")


def timing(step: Callable[[], object], device: str) -> Callable[[], float]:
    """Returns a function that does some steps and returns the seconds of one."""

    def run() -> float:
        wait(device)
        started_at = time.perf_counter()
        for _ in range(NUM_STEPS):
            step()
        wait(device)
        return (time.perf_counter() - started_at) / NUM_STEPS

    return run


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def bare_products(work: Work) -> Callable[[], object]:
    """Returns the three products of a head on a quarter of the positions, four times."""
    size = work.num_tokens // 4
    half = {"dtype": torch.bfloat16, "device": work.device}
    vectors = torch.randn(size, aligned(201, 8), **half)
    table = torch.randn(aligned(work.num_pieces, 64), aligned(201, 8), **half)
    logits = torch.empty(size, len(table), **half)

    def products() -> None:
        for _ in range(4):
            torch.mm(vectors, table.T, out=logits)
            torch.mm(logits, table)
            torch.mm(logits.T, vectors)

    return products


if __name__ == "__main__":
    main()
