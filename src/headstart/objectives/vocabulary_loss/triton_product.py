"""Logits and their exponentials by one kernel: logits never reach the memory, nor are they rounded.

A matrix product whose every tile ends with exponentials needs a reference for each row before any
logit is known: the highest logit of some few pieces, by a narrow product of its own. Where another
is so far above it that its exponential would be too large, a second kernel does that row again, by
itself; it is there for every row anyway, to add up the tiles and to take the target's share off.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from headstart.objectives.vocabulary_loss.exponentials import Aim, Found

# Positions, pieces and columns of a tile; warps; tiles of columns that are on their way at once.
TILE, NUM_WARPS, NUM_STAGES = (128, 256, 64), 8, 3
# The pieces that a reference is taken from.
NUM_REFERENCES = 512
# How far above its reference a logit may be: 60,000 exponentials of this add up without overflow.
FARTHEST = 60.0
# How many numbers of the matrix are at hand at a time where a row is done again.
NUM_AGAIN = 8_192


def triton_product(
    hidden_CW: Tensor, table_PW: Tensor, target_C: Tensor, aim: Aim, out_CP: Tensor
) -> Found:
    """Writes the exponentials of the logits of a chunk, on the stream that is current."""
    (num_pieces, certainty), (num_rows, width) = aim, hidden_CW.shape
    few_FW = table_PW[: min(NUM_REFERENCES, num_pieces)]
    reference_C = (hidden_CW @ few_FW.T).amax(-1).float()
    tile_rows, tile_pieces, tile_columns = TILE
    num_tiles = triton.cdiv(len(table_PW), tile_pieces)
    sum_CT = hidden_CW.new_empty(num_rows, num_tiles, dtype=torch.float32)
    loss_C, scale_C = torch.empty_like(reference_C), torch.empty_like(reference_C)
    _tiles[(triton.cdiv(num_rows, tile_rows) * num_tiles,)](
        hidden_CW,
        table_PW,
        reference_C,
        out_CP,
        sum_CT,
        num_rows,
        num_pieces,
        num_columns=len(table_PW),
        width=width,
        num_tiles=num_tiles,
        farthest=FARTHEST,
        tile_rows=tile_rows,
        tile_pieces=tile_pieces,
        tile_columns=tile_columns,
        num_warps=NUM_WARPS,
        num_stages=NUM_STAGES,
    )
    whole_width = triton.next_power_of_2(width)
    _rows[(num_rows,)](
        hidden_CW,
        table_PW,
        target_C,
        reference_C,
        out_CP,
        sum_CT,
        loss_C,
        scale_C,
        num_pieces,
        certainty,
        num_columns=len(table_PW),
        width=width,
        whole_width=whole_width,
        num_tiles=num_tiles,
        whole_tiles=triton.next_power_of_2(num_tiles),
        num_again=max(1, NUM_AGAIN // whole_width),
        num_warps=4,
    )
    return loss_C, scale_C


@triton.jit
def _tiles(
    hidden,
    table,
    references,
    powers,
    sums,
    num_rows,
    num_pieces,
    num_columns: tl.constexpr,
    width: tl.constexpr,
    num_tiles: tl.constexpr,
    farthest: tl.constexpr,
    tile_rows: tl.constexpr,
    tile_pieces: tl.constexpr,
    tile_columns: tl.constexpr,
):
    """Does one tile: its product, exponentials in the place of logits, and the sum of each row."""
    # Neighbours share their part of the matrix, which is the larger one.
    num_row_tiles = tl.cdiv(num_rows, tile_rows)
    tile = tl.program_id(0) // num_row_tiles
    row = (tl.program_id(0) % num_row_tiles) * tile_rows + tl.arange(0, tile_rows)
    piece = tile * tile_pieces + tl.arange(0, tile_pieces)
    # What lies beyond the edges is computed from what does not, and then left out.
    near_row = tl.where(row < num_rows, row, 0)
    near_piece = tl.where(piece < num_columns, piece, 0)
    logits = tl.zeros([tile_rows, tile_pieces], dtype=tl.float32)
    for start in range(0, width, tile_columns):
        column = start + tl.arange(0, tile_columns)
        is_inside = column < width
        one = tl.load(
            hidden + near_row[:, None] * width + column[None, :], mask=is_inside[None, :], other=0.0
        )
        other = tl.load(
            table + near_piece[None, :] * width + column[:, None],
            mask=is_inside[:, None],
            other=0.0,
        )
        logits = tl.dot(one, other, logits)
    reference = tl.load(references + near_row)
    above = tl.where((piece < num_pieces)[None, :], logits - reference[:, None], float("-inf"))
    power = tl.exp(tl.minimum(above, farthest))
    # A sum that is infinite says that the row has to be done again.
    is_far = tl.max(above, 1) > farthest
    total = tl.where(is_far, float("inf"), tl.sum(power, 1))
    tl.store(sums + row * num_tiles + tile, total, mask=row < num_rows)
    is_inside = (row < num_rows)[:, None] & (piece < num_columns)[None, :]
    place = row.to(tl.int64)[:, None] * num_columns + piece[None, :]
    tl.store(powers + place, power.to(tl.bfloat16), mask=is_inside)


@triton.jit
def _rows(
    hidden,
    table,
    targets,
    references,
    powers,
    sums,
    losses,
    scales,
    num_pieces,
    certainty,
    num_columns: tl.constexpr,
    width: tl.constexpr,
    whole_width: tl.constexpr,
    num_tiles: tl.constexpr,
    whole_tiles: tl.constexpr,
    num_again: tl.constexpr,
):
    """Adds up the tiles of one row and takes the target's share off; does it again where needed."""
    row = tl.program_id(0).to(tl.int64)
    powers += row * num_columns
    column, tile = tl.arange(0, whole_width), tl.arange(0, whole_tiles)
    vector = tl.load(hidden + row * width + column, mask=column < width, other=0.0).to(tl.float32)
    target = tl.load(targets + row)
    answer = tl.load(table + target * width + column, mask=column < width, other=0.0)
    wanted = tl.sum(vector * answer.to(tl.float32), 0)
    reference = tl.load(references + row)
    part = tl.load(sums + row * num_tiles + tile, mask=tile < num_tiles, other=0.0)
    total = tl.sum(part, 0)
    if total == float("inf"):
        new_reference, new_total = reference, 0.0
        for sweep in range(2):
            for start in range(0, num_columns, num_again):
                piece = start + tl.arange(0, num_again)
                place = piece[:, None] * width + column[None, :]
                is_inside = (piece < num_columns)[:, None] & (column < width)[None, :]
                rows = tl.load(table + place, mask=is_inside, other=0.0).to(tl.float32)
                logit = tl.sum(rows * vector[None, :], 1)
                logit = tl.where(piece < num_pieces, logit, float("-inf"))
                if sweep == 0:
                    higher = tl.maximum(new_reference, tl.max(logit, 0))
                    new_total *= tl.exp(new_reference - higher)
                    new_total += tl.sum(tl.exp(logit - higher), 0)
                    new_reference = higher
                else:
                    power = tl.exp(logit - new_reference).to(tl.bfloat16)
                    tl.store(powers + piece, power, mask=piece < num_columns)
        reference, total = new_reference, new_total
        tl.debug_barrier()
    tl.store(losses + row, tl.log(total) + reference - certainty * wanted)
    tl.store(scales + row, 1.0 / total)
    share = tl.exp(wanted - reference) - certainty * total
    tl.store(powers + target, share.to(tl.bfloat16))
