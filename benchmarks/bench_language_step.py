"""How many tokens a second do two cores learn from, in whole steps of the documents' model?

32 x 256 pieces out of 50,001, the optimiser and clipping included. Headstart does the steps that
`pretrain` does: with the exact head, or with a sample of the vocabulary, as it does by itself on a
processor; products in half precision where the processor is made for it, then once more in single.
The first peer is what the documents wrote in torch.nn; then Hugging Face's GPT-2 and x-transformers
in the same shape, with fused AdamW, in either precision. Each contestant has a process of its own,
and they take turns; ours keeps freed memory, as `pretrain` does. 16 GiB are needed.
Usage: bench_language_step.py [--tiny]
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from time import perf_counter

import torch
from our_language_step import DrawnRows, our_step
from record import alternate, ask
from their_language_models import DocumentsModel, HuggingFaceModel, XTransformersModel
from torch import nn
from worker import NewRuns, Run, Worker

from headstart import find_recipe
from headstart.pipeline.planning import best_precision
from headstart.pipeline.recipe import with_vocabulary
from headstart.training.allocator import keep_freed_memory
from headstart.training.config import HeadKind, Precision

PLAIN = "torch.nn, as the documents wrote it"
IN_HALF, IN_SINGLE = ", in bf16", ", in single precision"
SEQUENCES, LENGTH, NUM_PIECES = 32, 256, 50_001
TINY = (2, 16, 301)
NUM_ROUNDS, NUM_TINY_ROUNDS = 7, 1
STEP = "step"

NewModel = Callable[[int, int], nn.Module]


def shape(*, is_tiny: bool) -> tuple[int, int, int]:
    """Returns the rows of a step, their length, and the pieces there are."""
    return TINY if is_tiny else (SEQUENCES, LENGTH, NUM_PIECES)


def our_runs(head: HeadKind, precision: Precision, *, is_tiny: bool) -> dict[str, Run]:
    """Returns our step."""
    keep_freed_memory()
    sequences, length, num_pieces = shape(is_tiny=is_tiny)
    recipe = with_vocabulary(find_recipe("lab"), num_pieces)
    recipe = replace(recipe, learning=replace(recipe.learning, head=head))
    rows = DrawnRows.of(sequences, length, num_pieces, "cpu")
    return {STEP: partial(timed, our_step(recipe, rows, precision, is_compiled=False))}


def their_runs(new: NewModel, *, is_half: bool = False, is_tiny: bool) -> dict[str, Run]:
    """Returns the step of a peer."""
    sequences, length, num_pieces = shape(is_tiny=is_tiny)
    rows = DrawnRows.of(sequences, length, num_pieces, "cpu")
    model = new(num_pieces, length).train()
    is_theirs = new is not DocumentsModel
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=is_theirs)

    def step() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16) if is_half else nullcontext():
            loss = model(rows.tokens, rows.target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()

    return {STEP: partial(timed, step)}


def timed(step: Callable[[], object]) -> float:
    """Does a step, and returns its seconds."""
    started_at = perf_counter()
    step()
    return perf_counter() - started_at


CONTESTANTS: dict[str, NewRuns] = {
    PLAIN: partial(their_runs, DocumentsModel),
    "Hugging Face GPT-2": partial(their_runs, HuggingFaceModel),
    f"Hugging Face GPT-2{IN_HALF}": partial(their_runs, HuggingFaceModel, is_half=True),
    "x-transformers": partial(their_runs, XTransformersModel),
    f"x-transformers{IN_HALF}": partial(their_runs, XTransformersModel, is_half=True),
    "headstart, exact head": partial(our_runs, "exact", best_precision("cpu")),
    f"headstart, exact head{IN_SINGLE}": partial(our_runs, "exact", "fp32"),
    "headstart, sampled head": partial(our_runs, "sampled", best_precision("cpu")),
    f"headstart, sampled head{IN_SINGLE}": partial(our_runs, "sampled", "fp32"),
}


def answered(*, is_tiny: bool) -> dict[str, object]:
    """Lets all learn in turns, and returns what was found."""
    sequences, length, num_pieces = shape(is_tiny=is_tiny)
    workers = {
        name: Worker(partial(new_runs, is_tiny=is_tiny)) for name, new_runs in CONTESTANTS.items()
    }
    seconds = alternate(
        {name: partial(worker.run, STEP) for name, worker in workers.items()},
        NUM_TINY_ROUNDS if is_tiny else NUM_ROUNDS,
    )
    for worker in workers.values():
        worker.stop()
    plain = seconds[PLAIN]["median_seconds"]
    return {
        "work": f"lab, causal, {sequences} x {length} pieces of {num_pieces:,}, a whole AdamW step",
        "tokens": sequences * length,
        "precision": best_precision("cpu"),
        "seconds": seconds,
        "ratios": {name: plain / row["median_seconds"] for name, row in seconds.items()},
    }


if __name__ == "__main__":
    ask("language-step", __doc__, answered)
