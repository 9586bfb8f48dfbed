"""The pass over a chunk of logits as one kernel: each row is read once and written once.

An exponential is taken of a logit less some reference, which is the highest logit in the usual
form: then a row is read a second time, since its highest logit is known only at its end. But the
type has the range of single precision, so that any reference will do that is not far below the
highest. Here it is the highest of the row's first block. Where a later block has one far above it,
what was written before is scaled down to a new reference, which hardly ever happens.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from headstart.objectives.vocabulary_loss.exponentials import Aim, Found

# How many logits a program has at hand, and how many times 32 threads share them: 16 a thread, so
# that 8 programs find room on a processor, and little of the last block is empty.
BLOCK, NUM_WARPS = 2_048, 4
# How far above its reference a logit may be: 60,000 exponentials of this add up without overflow.
FARTHEST = 30.0


def triton_pass(logits_CP: Tensor, target_C: Tensor, aim: Aim) -> Found:
    """Does the pass by the kernel, on the stream that is current."""
    num_pieces, certainty = aim
    num_rows, num_columns = logits_CP.shape
    loss_C = logits_CP.new_empty(num_rows, dtype=torch.float32)
    scale_C = torch.empty_like(loss_C)
    block = min(BLOCK, triton.next_power_of_2(num_columns))
    if num_rows:
        _exponentials[(num_rows,)](
            logits_CP,
            target_C,
            loss_C,
            scale_C,
            num_pieces,
            num_columns,
            certainty,
            farthest=FARTHEST,
            block=block,
            num_warps=min(NUM_WARPS, max(1, block // 256)),
        )
    return loss_C, scale_C


@triton.jit
def _exponentials(
    logits,
    targets,
    losses,
    scales,
    num_pieces,
    num_columns,
    certainty,
    farthest: tl.constexpr,
    block: tl.constexpr,
):
    """Does one row: exponentials in the place of logits, with the target's share taken off."""
    row = tl.program_id(0).to(tl.int64)
    logits += row * num_columns
    target = tl.load(targets + row)
    wanted = tl.load(logits + target).to(tl.float32)
    # Eight numbers are what a thread loads at once: sums over them stay within it.
    place = tl.arange(0, block // 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    # Rows are whole vectors of the memory, padding included; a mask that ends at the last piece
    # would have each number loaded by itself.
    ahead = tl.load(logits + place, mask=place < num_columns, other=0.0)
    first = tl.where(place < num_pieces, ahead.to(tl.float32), float("-inf"))
    reference = tl.max(tl.max(first, 1), 0)
    sums = tl.zeros([block // 8], dtype=tl.float32)
    for start in range(0, num_columns, block):
        column = start + place
        score = tl.where(column < num_pieces, ahead.to(tl.float32), float("-inf"))
        following = column + block
        # The next block travels while this one is worked on.
        ahead = tl.load(logits + following, mask=following < num_columns, other=0.0)
        highest = tl.max(tl.max(score, 1), 0)
        if highest - reference > farthest:
            factor = tl.exp(reference - highest)
            sums *= factor
            reference = highest
            tl.debug_barrier()
            for earlier in range(0, start, block):
                written = tl.load(logits + earlier + place).to(tl.float32)
                tl.store(logits + earlier + place, (written * factor).to(tl.bfloat16))
        power = tl.exp(score - reference)
        sums += tl.sum(power, 1)
        tl.store(logits + column, power.to(tl.bfloat16), mask=column < num_columns)
    total = tl.sum(sums, 0)
    tl.store(losses + row, tl.log(total) + reference - certainty * wanted)
    tl.store(scales + row, 1.0 / total)
    # Another thread may have written the target's place; it has to come first.
    tl.debug_barrier()
    share = tl.exp(wanted - reference) - certainty * total
    tl.store(logits + target, share.to(tl.bfloat16))
