"""What do the chunked and the sampled vocabulary head cost, beside plain torch.nn?

First the head alone, forward and backward, with the memory it takes; then a whole training step of
the documents' model. The peer is what the documents wrote: nn.TransformerEncoder, nn.Linear,
F.cross_entropy, AdamW, with PyTorch's defaults. Each contestant has a process of its own, since how
the C library treats freed memory is a setting of the whole process; they take turns.
"""

import math
import multiprocessing
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from record import alternate, keep
from torch import Tensor, nn
from worker import Run, Worker

from headstart import Text, find_recipe, initialise, new_model
from headstart.models.positions import sinusoids
from headstart.objectives.vocabulary_loss.chunked import summed_loss
from headstart.objectives.vocabulary_loss.sampled import CandidateSampler, sampled_loss
from headstart.training.allocator import keep_freed_memory, return_freed_memory
from headstart.training.clipping import clip_gradients
from headstart.training.rehearsal import forget_peak, memory_counts
from headstart.training.rowwise import RowwiseAdamW

SEQUENCES, LENGTH = 16, 256
NUM_PIECES, WIDTH = 50_001, 200
# Positions, pieces: 32 x 256 and 16 x 256 texts, and what a small vocabulary or batch has.
SHAPES = [(8_192, NUM_PIECES), (4_096, NUM_PIECES), (600, 8_000), (2_048, 500), (64, 500)]
REVIEWS = Path("carry/reviews_2m.npy")


class DocumentsModel(nn.Module):
    """The documents' language model, as a notebook of theirs has it."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(NUM_PIECES, WIDTH)
        self.register_buffer("positions", sinusoids(5_000, WIDTH).float()[:, None])
        layer = nn.TransformerEncoderLayer(WIDTH, 2, WIDTH, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, 4)
        self.head = nn.Linear(WIDTH, NUM_PIECES)

    def forward(self, tokens: Tensor) -> Tensor:
        """Returns the logits at each position."""
        mask = nn.Transformer.generate_square_subsequent_mask(len(tokens))
        hidden = self.embedding(tokens) * math.sqrt(WIDTH) + self.positions[: len(tokens)]
        return self.head(self.encoder(hidden, mask))


def rows_of_text() -> Tensor:
    """Returns a step's rows of real text, or of a made-up one whose pieces are as uneven."""
    num_tokens = SEQUENCES * (LENGTH + 1)
    if REVIEWS.exists():
        flat = torch.from_numpy(np.load(REVIEWS)[:num_tokens].astype(np.int64))
    else:
        chances = 1 / torch.arange(1.0, NUM_PIECES + 1)
        flat = torch.multinomial(chances, num_tokens, replacement=True)
    return flat.view(SEQUENCES, LENGTH + 1)


def timed(step: Callable[[], None]) -> Run:
    """Returns a function that does a step and returns its seconds."""

    def run() -> float:
        started_at = time.perf_counter()
        step()
        return time.perf_counter() - started_at

    return run


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
    return timed(lambda: [step() for _ in range(num_times)])() / num_times


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


def plain_step_runs(*, keeps_memory: bool) -> dict[str, Run]:
    """Returns the documents' training step."""
    if keeps_memory:
        keep_freed_memory()
    model, rows = DocumentsModel(), rows_of_text()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        logits = model(rows[:, :-1].T)
        F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].T.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()

    return {"step": timed(step)}


def our_step_runs(*, is_sampled: bool) -> dict[str, Run]:
    """Returns our training step of the same model, with the exact or the sampled head."""
    keep_freed_memory()
    model, rows = new_model(find_recipe("lab").model), rows_of_text()
    initialise(model, seed=0)
    embedding, head, parameters = model.trunk.embedding.tokens, model.head, list(model.parameters())
    sampler = CandidateSampler(torch.bincount(rows.flatten(), minlength=NUM_PIECES))
    tables = [embedding.weight, head.weight, head.bias] if is_sampled else []
    embedding.sparse = is_sampled
    names = {id(table) for table in tables}
    dense = [weights for weights in parameters if id(weights) not in names]
    optimisers = [torch.optim.AdamW(dense, lr=1e-4, fused=True)]
    optimisers += [RowwiseAdamW(tables, lr=1e-4)] if is_sampled else []

    def step() -> None:
        hidden = model.trunk(Text(rows[:, :-1])).flatten(0, 1)
        target = rows[:, 1:].flatten()
        loss = (
            sampled_loss(hidden, head.weight, head.bias, sampler.draw(target))
            if is_sampled
            else summed_loss(hidden, head.weight, head.bias, target)
        )
        (loss / len(target)).backward()
        clip_gradients(parameters, 1.0)
        for optimiser in optimisers:
            optimiser.step()
            optimiser.zero_grad()

    return {"step": timed(step)}


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
    steps = {
        "torch.nn, as the documents wrote it": partial(plain_step_runs, keeps_memory=False),
        "the same, freed memory kept": partial(plain_step_runs, keeps_memory=True),
        "headstart, exact head": partial(our_step_runs, is_sampled=False),
        "headstart, sampled head and row-wise updates": partial(our_step_runs, is_sampled=True),
    }
    answer = {
        "step": race(steps, "step"),
        "heads": {shape_name(*shape): race(heads, shape_name(*shape)) for shape in SHAPES},
        "head_bytes": {
            kind: {
                shape_name(*shape): in_a_process(partial(head_memory, kind, *shape))
                for shape in SHAPES[:2]
            }
            for kind in HEADS
        },
    }
    work = (
        f"lab, {SEQUENCES} x {LENGTH} pieces, a whole AdamW step; the head alone at width {WIDTH}"
    )
    keep("head", {"work": work, "tokens": SEQUENCES * LENGTH, **answer})


if __name__ == "__main__":
    main()
