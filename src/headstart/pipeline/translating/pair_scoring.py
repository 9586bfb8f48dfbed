"""How likely a translator finds given translations, piece by piece."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from headstart.models.inputs import SourceAndTarget
from headstart.objectives.translation import PairBatch, answer_losses, to_pair_batch
from headstart.pipeline.feeding import device_of
from headstart.pipeline.run_folder import Run
from headstart.tokenizers.pieces import END_ID, START_ID

# Few enough that the logits of a large vocabulary fit beside them.
NUM_TOKENS_AT_ONCE = 4_096


@dataclass(frozen=True, kw_only=True)
class PairRow:
    """The pieces of a source and of its translation, without marks."""

    source: tuple[int, ...]
    target: tuple[int, ...]

    @property
    def source_read(self) -> list[int]:
        """The source as the encoder reads it."""
        return [*self.source, END_ID]

    @property
    def target_read(self) -> list[int]:
        """The target as the decoder reads it."""
        return [START_ID, *self.target]

    @property
    def target_written(self) -> list[int]:
        """The target as it is asked for."""
        return [*self.target, END_ID]

    @property
    def length(self) -> int:
        """The positions that the longer side needs."""
        return 1 + max(len(self.source), len(self.target))


def pair_row(run: Run, source: str, target: str) -> PairRow:
    """Cuts both sides of a pair."""
    return PairRow(
        source=tuple(run.tokenizer.encode(source).tolist()),
        target=tuple(run.target_tokenizer.encode(target).tolist()),
    )


def room_of(run: Run) -> int:
    """Returns how many positions a translator has for each side."""
    trunk = run.recipe.model.trunk
    return min(trunk.reading_stack.max_length, trunk.writing_stack.max_length)


def as_batch(run: Run, rows: Sequence[PairRow]) -> PairBatch:
    """Returns pairs as a translator reads them."""
    return to_pair_batch(
        [np.array(row.source, dtype=np.int32) for row in rows],
        [np.array(row.target, dtype=np.int32) for row in rows],
        [""] * len(rows),
        str(device_of(run)),
    )


def as_pairs(run: Run, rows: Sequence[PairRow]) -> SourceAndTarget:
    """Returns the same without what is asked for."""
    return as_batch(run, rows).pair


@torch.inference_mode()
def written_log_probabilities(run: Run, rows: Sequence[PairRow]) -> Iterator[list[float]]:
    """Yields, for each pair in order, the logarithm of each written piece's probability."""
    for part in parts(rows):
        found = (-answer_losses(run.model, as_batch(run, part))).tolist()
        for row in part:
            num_written = len(row.target_written)
            yield found[:num_written]
            found = found[num_written:]


def parts(rows: Sequence[PairRow]) -> Iterator[list[PairRow]]:
    """Yields neighbouring rows, as many as may be read at once, at least one."""
    part: list[PairRow] = []
    for row in rows:
        longest = max([row.length, *(one.length for one in part)])
        if part and longest * (len(part) + 1) > NUM_TOKENS_AT_ONCE:
            yield part
            part = []
        part.append(row)
    if part:
        yield part
