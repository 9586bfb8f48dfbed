"""How many tokens a second do two cores learn from, in whole steps of the documents' model?

32 x 256 pieces out of 50,001, the optimiser and clipping included. Headstart does the steps that
`pretrain` does: with the exact head, or with a sample of the vocabulary, as it does by itself on a
processor; in single precision and, where the processor is made for it, in half. The first peer is
what the documents wrote in torch.nn, with the C library as it comes. Then the same, Hugging Face's
GPT-2 and x-transformers in these widths, with fused AdamW, in either precision, and with freed
memory kept, as `pretrain` keeps it; the first two also compiled, which takes a minute before the
first step. Each contestant has a process of its own, and they take turns; peers take up to 11 GB.
Usage: bench_language_step.py [--tiny]
"""

import ctypes
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from importlib.metadata import version

import torch
from our_language_step import DrawnRows, our_step
from record import alternate, ask, timed
from their_language_models import (
    HAS_X_TRANSFORMERS,
    DocumentsModel,
    HuggingFaceModel,
    XTransformersModel,
)
from torch import nn
from worker import NewRuns, Run, Worker

from headstart import find_recipe
from headstart.pipeline.planning import best_precision
from headstart.pipeline.recipe import with_vocabulary
from headstart.training.allocator import keep_freed_memory
from headstart.training.config import HeadKind, Precision

PLAIN = "torch.nn, as the documents wrote it"
EXACT, SAMPLED = "headstart, exact head", "headstart, sampled head"
IN_HALF, KEPT, COMPILED = ", in bf16", ", freed memory kept", ", compiled"
COMPILING_PEERS = {PLAIN: DocumentsModel, "Hugging Face GPT-2": HuggingFaceModel}
PEERS = dict(COMPILING_PEERS)
if HAS_X_TRANSFORMERS:
    PEERS["x-transformers"] = XTransformersModel
SEQUENCES, LENGTH, NUM_PIECES = 32, 256, 50_001
TINY = (2, 16, 301)
NUM_ROUNDS, NUM_TINY_ROUNDS = 5, 1
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


def their_runs(
    new: NewModel,
    *,
    is_half: bool = False,
    keeps_memory: bool = False,
    is_compiled: bool = False,
    is_tiny: bool,
) -> dict[str, Run]:
    """Returns the step of a peer."""
    if keeps_memory:
        keep_freed_memory()
    sequences, length, num_pieces = shape(is_tiny=is_tiny)
    rows = DrawnRows.of(sequences, length, num_pieces, "cpu")
    model = new(num_pieces, length).train()
    # To see that it runs nobody waits for a compiler.
    learn = torch.compile(model) if is_compiled and not is_tiny else model
    # As it comes for the documents' own step, fused for what is a peer at its best.
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=keeps_memory)

    def step() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16) if is_half else nullcontext():
            loss = learn(rows.tokens, rows.target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()

    return {STEP: partial(timed_in_turn, step) if keeps_memory else partial(timed, step)}


def timed_in_turn(step: Callable[[], object]) -> float:
    """Does a step with memory that one before it has left, and leaves none to the next contestant.

    What two of them keep would not fit into the memory of most machines.
    """
    step()
    seconds = timed(step)
    with suppress(AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
    return seconds


def contestants() -> dict[str, NewRuns]:
    """Returns how each contestant gets ready, by name."""
    found: dict[str, NewRuns] = {PLAIN: partial(their_runs, DocumentsModel)}
    precisions = {"": False, IN_HALF: True}
    for is_compiled, peers in {False: PEERS, True: COMPILING_PEERS}.items():
        for name, new in peers.items():
            for ending, is_half in precisions.items():
                how = f"{KEPT}{COMPILED if is_compiled else ''}{ending}"
                found[f"{name}{how}"] = partial(
                    their_runs, new, is_half=is_half, keeps_memory=True, is_compiled=is_compiled
                )
    heads: dict[str, HeadKind] = {EXACT: "exact", SAMPLED: "sampled"}
    for name, head in heads.items():
        found[name] = partial(our_runs, head, "fp32")
        if best_precision("cpu") == "bf16":
            found[f"{name}{IN_HALF}"] = partial(our_runs, head, "bf16")
    return found


def answered(*, is_tiny: bool) -> dict[str, object]:
    """Lets all learn in turns, and returns what was found."""
    sequences, length, num_pieces = shape(is_tiny=is_tiny)
    workers = {
        name: Worker(partial(new_runs, is_tiny=is_tiny)) for name, new_runs in contestants().items()
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
        "peers": {"transformers": version("transformers")}
        | ({"x-transformers": version("x-transformers")} if HAS_X_TRANSFORMERS else {}),
        "seconds": seconds,
        "ratios": {name: plain / row["median_seconds"] for name, row in seconds.items()},
    }


if __name__ == "__main__":
    ask("language-step", __doc__, answered)
